/** Most characters of a pattern. */
const maxLength = 200

/** Addresses, and words that differ from message to message: queue ids, UUIDs, dates and long numbers. */
const varying = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+|\b(?=[\w-]*\d)[\w-]{8,}\b|\b\d{4,}\b/g

/**
 * The reason of a delivery without the parts that differ from message to message: `…` stands for any characters. Deliveries whose
 * reasons have one pattern failed alike. A pattern has at most 200 characters, and is contained in the reason it is made of.
 */
export const reasonPattern = (reason: string): string =>
  [...reason.replace(varying, "…").replace(/…(?:[\s…]*…)+/g, "…")].slice(0, maxLength).join("").trim()

/** The operand of SQL's ILIKE for texts that contain `text`, in which `…` stands for any characters. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&").replaceAll("…", "%")}%`
