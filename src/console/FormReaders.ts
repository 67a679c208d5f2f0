// How the fields of a form become members of an input of the API. A field is read by one reader, by its name.

/** The value of a member, read from the sent text of its field. Undefined leaves the member out. */
export type Reader = (sent: string | undefined) => unknown

/** The text without spaces around it. */
export const text: Reader = (sent = "") => sent.trim()

/** The text as it was typed, such as a password. */
export const typed: Reader = (sent = "") => sent

/** A number. Other texts stay texts, so that the schema refuses them. */
export const number: Reader = (sent = "") => sent.trim() !== "" && Number.isFinite(Number(sent)) ? Number(sent) : sent

/** Whether a box is ticked. */
export const checked: Reader = (sent) => sent !== undefined

/** The entries of a text between separators, by default its lines, without empty ones. */
export const list = (separator: RegExp | string = /\r?\n/) => (sent = ""): ReadonlyArray<string> =>
  sent.split(separator).map((entry) => entry.trim()).filter((entry) => entry !== "")

/** Leaves the member out unless the form has its field. */
export const ifSent = (reader: Reader): Reader => (sent) => sent === undefined ? undefined : reader(sent)

/** Leaves the member out unless its field is filled in. */
export const ifFilled = (reader: Reader): Reader => (sent = "") => sent.trim() === "" ? undefined : reader(sent)

/** Null for an empty field. */
export const orNull = (reader: Reader): Reader => (sent = "") => sent.trim() === "" ? null : reader(sent)

/** The members that `readers` make of a form. */
export const readForm = (
  readers: Readonly<Record<string, Reader>>,
  sent: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [name, read(Object.hasOwn(sent, name) ? sent[name] : undefined)])
      .filter(([, value]) => value !== undefined),
  )
