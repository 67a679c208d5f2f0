/**
 * Maximum number of lines of a function in `src/`. A longer function must state the reason in a comment `// Long: …`.
 */
const mostLines = 150

type AnyFunction = Deno.lint.ArrowFunctionExpression | Deno.lint.FunctionDeclaration | Deno.lint.FunctionExpression

const plugin: Deno.lint.Plugin = {
  name: "parlance",
  rules: {
    "long-functions": {
      create: (context) => {
        if (!/[/\\]src[/\\]/.test(context.filename)) return {}
        const check = (node: AnyFunction) => {
          const text = context.sourceCode.getText(node)
          const lines = text.split("\n").length
          if (lines <= mostLines || /\/\/ Long: \S/.test(text)) return
          context.report({
            node,
            message: `This function has ${lines} lines, more than ${mostLines}`,
            hint: "Split it, or state the reason in it: // Long: …",
          })
        }
        return { ArrowFunctionExpression: check, FunctionDeclaration: check, FunctionExpression: check }
      },
    },
  },
}

export default plugin
