import { Record } from "effect"

// How the fields of a form become members of an input of the API. A field is read by one reader, by its name.

/** The value of a member, read from the sent text of its field. Undefined leaves the member out. */
export type Reader<A = unknown> = (sent: string | undefined) => A

/** The text without spaces around it. */
export const text: Reader<string> = (sent = "") => sent.trim()

/** The text as it was typed, such as a password. */
export const typed: Reader<string> = (sent = "") => sent

/** Several lines, with a line feed between them. */
export const lines: Reader<string> = (sent = "") => sent.replaceAll("\r\n", "\n")

/** A number. Other texts stay texts, so that the schema refuses them. */
export const number: Reader = (sent = "") => sent.trim() !== "" && Number.isFinite(Number(sent)) ? Number(sent) : sent

/** Whether a box is ticked. */
export const checked: Reader<boolean> = (sent) => sent !== undefined

/** The entries of a text between separators, by default its lines, without empty ones. */
export const list = (separator: RegExp | string = /\r?\n/) => (sent = ""): ReadonlyArray<string> =>
  sent.split(separator).map((entry) => entry.trim()).filter((entry) => entry !== "")

/** Leaves the member out unless the form has its field. */
export const ifSent = (reader: Reader): Reader => (sent) => sent === undefined ? undefined : reader(sent)

/** Leaves the member out unless its field is filled in. */
export const ifFilled = (reader: Reader): Reader => (sent = "") => sent.trim() === "" ? undefined : reader(sent)

/** Null for an empty field. */
export const orNull = (reader: Reader): Reader => (sent = "") => sent.trim() === "" ? null : reader(sent)

/** Declares the fields of a form, each with its reader. The returned function reads them from a sent form. */
export const formFields =
  <Readers extends Readonly<Record<string, Reader>>>(readers: Readers) =>
  (sent: Readonly<Record<string, string>>): { readonly [Name in keyof Readers]: ReturnType<Readers[Name]> } =>
    Record.map(readers, (read, name) => read(Object.hasOwn(sent, name) ? sent[name] : undefined)) as never

/** The members that `readers` make of a form. */
export const readForm = (
  readers: Readonly<Record<string, Reader>>,
  sent: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [name, read(Object.hasOwn(sent, name) ? sent[name] : undefined)])
      .filter(([, value]) => value !== undefined),
  )
