// Stands in the bundle for `@codemirror/lang-javascript`, which highlighting of HTML asks for: mail has no scripts, and its
// grammar would be a sixth of the bundle.
import { LanguageSupport, StreamLanguage } from "@codemirror/language"

export const javascriptLanguage = StreamLanguage.define({
  name: "javascript",
  token: (stream) => {
    stream.skipToEnd()
    return null
  },
})
Object.assign(javascriptLanguage.parser, { configure: () => javascriptLanguage.parser })

export const jsxLanguage = javascriptLanguage
export const typescriptLanguage = javascriptLanguage
export const tsxLanguage = javascriptLanguage
export const javascript = () => new LanguageSupport(javascriptLanguage)
