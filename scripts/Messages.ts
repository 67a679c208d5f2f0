import { parseSync } from "rolldown/utils"
import { keyOf } from "../src/languages/Texts.ts"

// Which texts of the console have translations. Pure.

/** A text of the source for the catalogues. */
export interface Message {
  /** The English text with `{0}`, `{1}` for its values; of a count, the form for many. */
  readonly key: string
  /** Of a count: the form for one. */
  readonly one?: string
}

interface Node {
  readonly type: string
  readonly [member: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  value !== null && typeof value === "object" && typeof (value as Node).type === "string"

/** The text of a literal, of a template without values, or of such texts joined by `+`. Undefined for anything else. */
const textOf = (node: Node | undefined): string | undefined => {
  if (node?.type === "Literal") return typeof node["value"] === "string" ? node["value"] : undefined
  if (node?.type === "TemplateLiteral" && (node["expressions"] as ReadonlyArray<Node>).length === 0) {
    return keyOf(stringsOf(node))
  }
  if (node?.type !== "BinaryExpression" || node["operator"] !== "+") return undefined
  const left = textOf(node["left"] as Node)
  const right = textOf(node["right"] as Node)
  return left === undefined || right === undefined ? undefined : left + right
}

const stringsOf = (quasi: Node): ReadonlyArray<string> =>
  (quasi["quasis"] as ReadonlyArray<{ readonly value: { readonly cooked: string } }>).map(({ value }) => value.cooked)

/**
 * The message of a call: `english("…")`, `counted(n, "mail")`, `plural(n, "{0} mail", "{0} mails")`, or the action of the
 * audit log in `writes("editor", "template changed")`.
 */
const messageOfCall = (name: string, [first, second, third]: ReadonlyArray<Node>): Message | undefined => {
  if (name === "english") {
    const key = textOf(first)
    return key === undefined ? undefined : { key }
  }
  const one = textOf(second)
  if (name === "writes") return one === undefined ? undefined : { key: one }
  if (one === undefined || (name !== "counted" && name !== "plural")) return undefined
  const many = third === undefined ? `${one}s` : textOf(third)
  if (many === undefined) return undefined
  return name === "plural" ? { key: many, one } : { key: `{0} ${many}`, one: `{0} ${one}` }
}

const messageOf = (node: Node): Message | undefined => {
  if (node.type === "TaggedTemplateExpression" && (node["tag"] as Node)["name"] === "t") {
    return { key: keyOf(stringsOf(node["quasi"] as Node)) }
  }
  if (node.type !== "CallExpression") return undefined
  return messageOfCall(String((node["callee"] as Node)["name"]), node["arguments"] as ReadonlyArray<Node>)
}

/** The messages of a source text in its order, with repetitions. `path` ends with `.ts` or `.tsx`. */
export const messagesOf = (path: string, source: string): ReadonlyArray<Message> => {
  const { errors, program } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`)
  const messages: Array<Message> = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isNode(value)) return
    const message = messageOf(value)
    if (message !== undefined) messages.push(message)
    Object.values(value).forEach(visit)
  }
  visit(program)
  return messages
}
