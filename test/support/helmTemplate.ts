import { createHash } from "node:crypto"

// Renders the subset of Helm's templates that the chart of this project uses. Other templates fail, as do missing
// values, which Helm renders as an empty text.

type Value = unknown
type Functions = Readonly<Record<string, (...args: ReadonlyArray<Value>) => Value>>
type Node =
  | { readonly _tag: "text"; readonly text: string }
  | { readonly _tag: "print"; readonly pipeline: Pipeline }
  | { readonly _tag: "if"; readonly pipeline: Pipeline; readonly then: Block; readonly otherwise: Block }
  | { readonly _tag: "range"; readonly names: ReadonlyArray<string>; readonly pipeline: Pipeline; readonly each: Block }
type Block = ReadonlyArray<Node>
type Operand =
  | { readonly _tag: "literal"; readonly value: Value }
  | { readonly _tag: "path"; readonly variable: string | undefined; readonly members: ReadonlyArray<string> }
  | { readonly _tag: "function"; readonly name: string }
  | { readonly _tag: "group"; readonly pipeline: Pipeline }
/** Commands. Each command gets the result of the previous command as its last argument. */
type Pipeline = ReadonlyArray<ReadonlyArray<Operand>>

const tokenPattern = /\s*("(?:[^"\\]|\\.)*"|\d+|\||\(|\)|:=|,|\$?[\w.]+|\$)/y

const tokensOf = (action: string): Array<string> => {
  const tokens: Array<string> = []
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < action.length) {
    const match = tokenPattern.exec(action)
    if (match === null) throw new Error(`Cannot read {{ ${action} }}`)
    tokens.push(match[1]!)
  }
  return tokens
}

const pathOf = (token: string): Operand => {
  const [, variable, members] = /^(\$\w*)?((?:\.\w+)*|\.)$/.exec(token) ?? []
  if (members === undefined) throw new Error(`Cannot read ${token}`)
  return { _tag: "path", variable, members: members.split(".").filter((name) => name !== "") }
}

const operandOf = (token: string): Operand => {
  if (token.startsWith('"')) return { _tag: "literal", value: JSON.parse(token) }
  if (/^\d+$/.test(token)) return { _tag: "literal", value: Number(token) }
  return /^[.$]/.test(token) ? pathOf(token) : { _tag: "function", name: token }
}

const readPipeline = (tokens: Array<string>): Pipeline => {
  const commands: Array<Array<Operand>> = [[]]
  for (;;) {
    const token = tokens.shift()
    if (token === undefined || token === ")") return commands
    if (token === "|") commands.push([])
    else commands.at(-1)!.push(token === "(" ? { _tag: "group", pipeline: readPipeline(tokens) } : operandOf(token))
  }
}

/** Splits a template into alternating texts and actions. A hyphen in an action removes adjacent white space. */
const partsOf = (template: string): Array<string> => {
  const parts = template.split(/\{\{(-?\s(?:[^}]|\}(?!\}))*?\s-?)\}\}/)
  return parts.map((part, i) => {
    if (i % 2 === 1) return part.replace(/^-/, "").replace(/-$/, "").trim()
    const start = parts[i - 1]?.endsWith("-") ? part.trimStart() : part
    return parts[i + 1]?.startsWith("-") ? start.trimEnd() : start
  })
}

/**
 * Reads a block until `end` or `else`. Returns the block and the word at its end, or undefined at the end of the
 * template.
 */
const readBlock = (parts: Array<string>, definitions: Map<string, Block>): readonly [Block, string | undefined] => {
  const nodes: Array<Node> = []
  for (;;) {
    const text = parts.shift()
    if (text === undefined) return [nodes, undefined]
    nodes.push({ _tag: "text", text })
    const action = parts.shift()
    if (action === undefined) return [nodes, undefined]
    const [word, ...rest] = tokensOf(action)
    if (word === "end" || word === "else") return [nodes, word]
    if (word === "define") definitions.set(JSON.parse(rest[0]!), readBlock(parts, definitions)[0])
    else if (word === "if") {
      const pipeline = readPipeline(rest)
      const [then, stopped] = readBlock(parts, definitions)
      nodes.push({ _tag: "if", pipeline, then, otherwise: stopped === "else" ? readBlock(parts, definitions)[0] : [] })
    } else if (word === "range") {
      const at = rest.indexOf(":=")
      const names = rest.splice(0, at + 1).filter((token) => token.startsWith("$"))
      nodes.push({ _tag: "range", names, pipeline: readPipeline(rest), each: readBlock(parts, definitions)[0] })
    } else nodes.push({ _tag: "print", pipeline: readPipeline([word!, ...rest]) })
  }
}

const isTrue = (value: Value): boolean =>
  value !== null && typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value)

/** Sorts members by name, as Go does. */
const sorted = (value: Value): Value =>
  Array.isArray(value)
    ? value.map(sorted)
    : value !== null && typeof value === "object"
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([k, v]) => [k, sorted(v)]))
    : value

const textOf = (value: Value): string => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value)
  throw new Error(`${JSON.stringify(value)} cannot be printed`)
}

const pure: Functions = {
  list: (...values) => values,
  ne: (a, b) => a !== b,
  not: (value) => !isTrue(value),
  quote: (value) => JSON.stringify(textOf(value)),
  default: (otherwise, value) => isTrue(value) ? value : otherwise,
  toJson: (value) => JSON.stringify(sorted(value)).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  sha256sum: (value) => createHash("sha256").update(textOf(value)).digest("hex"),
  nindent: (width, text) => `\n${textOf(text).replace(/^/gm, " ".repeat(width as number))}`,
  printf: (format, ...values) =>
    values.reduce<string>((text, value) => text.replace("%s", textOf(value)), textOf(format)),
}

type Scope = Readonly<Record<string, Value>>

/** Renders templates by their file names, with the values of Helm (`Values`, `Release`, `Chart`) in `root`. */
export const renderTemplates = (
  files: ReadonlyMap<string, string>,
  root: Readonly<Record<string, Value>>,
): ReadonlyMap<string, string> => {
  const definitions = new Map<string, Block>()
  const blocks = new Map([...files].map(([name, text]) => [name, readBlock(partsOf(text), definitions)[0]]))

  const functions: Functions = {
    ...pure,
    include: (name, dot) => {
      const block = definitions.get(name as string)
      if (block === undefined) throw new Error(`No template ${String(name)}`)
      return render(block, dot, { $: dot })
    },
  }

  const valueOf = (operand: Operand, dot: Value, scope: Scope): Value => {
    if (operand._tag === "literal") return operand.value
    if (operand._tag === "group") return resultOf(operand.pipeline, dot, scope)
    if (operand._tag === "function") throw new Error(`${operand.name} is not a value`)
    const { members, variable } = operand
    if (variable !== undefined && !Object.hasOwn(scope, variable)) throw new Error(`No variable ${variable}`)
    let value = variable === undefined ? dot : scope[variable]
    for (const name of members) {
      if (value === null || typeof value !== "object" || !Object.hasOwn(value, name)) {
        throw new Error(`No value ${members.join(".")}`)
      }
      value = (value as Record<string, Value>)[name]
    }
    return value
  }

  const resultOf = (pipeline: Pipeline, dot: Value, scope: Scope): Value => {
    let result: ReadonlyArray<Value> = []
    for (const [first, ...others] of pipeline) {
      if (first?._tag !== "function") result = [valueOf(first!, dot, scope)]
      else {
        const call = functions[first.name]
        if (call === undefined) throw new Error(`No function ${first.name}`)
        result = [call(...others.map((operand) => valueOf(operand, dot, scope)), ...result)]
      }
    }
    return result[0]
  }

  const render = (block: Block, dot: Value, scope: Scope): string =>
    block.map((node) => {
      switch (node._tag) {
        case "text":
          return node.text
        case "print":
          return textOf(resultOf(node.pipeline, dot, scope))
        case "if":
          return render(isTrue(resultOf(node.pipeline, dot, scope)) ? node.then : node.otherwise, dot, scope)
        case "range":
          return Object.entries(sorted(resultOf(node.pipeline, dot, scope)) as object).map(([key, value]) => {
            const [first, second] = node.names
            const more = second === undefined
              ? first === undefined ? {} : { [first]: value }
              : { [first!]: key, [second]: value }
            return render(node.each, value, { ...scope, ...more })
          }).join("")
      }
    }).join("")

  return new Map([...blocks].map(([name, block]) => [name, render(block, root, { $: root })]))
}
