import { Buffer } from "node:buffer"
import { sameCsrfToken } from "../accounts/CsrfToken.ts"

/** The reverse of an action: the path and the fields of the form that its button posts. */
export interface Undo {
  readonly to: string
  readonly fields?: Readonly<Record<string, string | ReadonlyArray<string>>>
}

/** The form of an undo on the page after the action. */
export interface UndoForm {
  readonly to: string
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
}

/**
 * The cookie that carries an undo to the page after the action. The address of that page must not carry the undo, because
 * a link from somebody else could then choose what the button does.
 */
export const undoCookie = "parlance_undo"

/** Maximum length of the cookie's value. Browsers keep cookies of up to 4,096 bytes. Unit: characters. */
const maxLength = 3_800

/** Returns the value of the cookie for the message `done` in the session of `csrf`, or undefined if it is too long. */
export const writeUndo = (csrf: string, done: string, { fields = {}, to }: Undo): string | undefined => {
  const sent = Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value]))
  const text = `${new URLSearchParams([["csrf", csrf], ["done", done], ["to", to], ...sent])}`
  const value = Buffer.from(text, "utf8").toString("base64url")
  return value.length > maxLength ? undefined : value
}

/** Reads the value of the cookie. Returns undefined if the undo belongs to another message or to another session. */
export const readUndo = (value: string, csrf: string, done: string | null): UndoForm | undefined => {
  const [token, message, to, ...fields] = [...new URLSearchParams(Buffer.from(value, "base64url").toString("utf8"))]
  return to !== undefined && sameCsrfToken(token![1], csrf) && message![1] === done ? { to: to[1], fields } : undefined
}
