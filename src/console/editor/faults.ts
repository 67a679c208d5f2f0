import type { Diagnostic } from "@codemirror/lint"
import type { Text } from "@codemirror/state"

// Where a fault of the service is in the text.

/** The end of the filter, tag name or value that begins at `column` of a line, or of the tag around it. */
const endOf = (text: string, column: number): number => {
  const rest = text.slice(column)
  const [tag] = /^\{\{.*?\}\}|^\{%.*?%\}/.exec(rest) ?? []
  if (tag !== undefined) return column + tag.length
  const [word] = /^[\w.-]+|^"[^"]*"|^'[^']*'/.exec(rest) ?? []
  return column + (word ?? rest.slice(0, 1)).length
}

/** A fault or warning such as `{detail: 'line 2, column 5: there is no filter "x"', isWarning: false}`. */
export interface ShownFault {
  readonly detail: string
  readonly isWarning?: boolean
}

/** The diagnostic of a text such as `line 2, column 5: there is no filter "x"`, a fault or a warning. */
export const diagnosticOf = (doc: Text, { detail: text, isWarning = false }: ShownFault): Diagnostic | undefined => {
  const severity = isWarning ? "warning" : "error"
  const [, line, column, message = ""] = /^\p{L}+ (\d+), \p{L}+ (\d+): (.*)$/su.exec(text) ?? []
  if (line === undefined) return { from: 0, to: doc.line(1).to, severity, message: text }
  if (Number(line) > doc.lines) return undefined
  const { from, text: shown } = doc.line(Number(line))
  const at = Math.min(Number(column) - 1, shown.length)
  return { from: from + at, to: from + endOf(shown, at), severity, message }
}
