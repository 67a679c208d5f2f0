import { english, translated } from "../languages/Language.ts"

// "Send nothing" as a candidate of a template.

/** The id of the candidate "send nothing". No variant has it, and it sorts before all variants. */
export const nothing = ""

/** The English name of the candidate `nothing`. */
export const nothingName = english("Send nothing")

/** The name of a candidate without a name of its own: its id, or the words for `nothing`. */
export const candidateName = (id: string): string => id === nothing ? translated(nothingName) : id
