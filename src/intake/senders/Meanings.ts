import type { EventName } from "../../domain/EventKinds.ts"
import { nameOf } from "../../domain/EventKeys.ts"

// The vocabularies of senders: data, so that a name is added in one place.

/** What a sender's name means: an event, or nothing about the effect of a message. */
export type Meaning = EventName | "ignored"

/** Meanings by the sender's names. */
export type Meanings = ReadonlyMap<string, Meaning>

/** A name in lowercase without `_`, `-` and spaces: senders spell one name in several ways. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_ -]/g, "")

/** Returns the meanings of a sender's names. The names of a meaning are separated by commas. */
export const meaningsOf = (names: { readonly [meaning in Meaning]?: string }): Meanings =>
  new Map(
    (Object.keys(names) as ReadonlyArray<Meaning>).flatMap((meaning) =>
      names[meaning]!.split(",").flatMap((name): ReadonlyArray<[string, Meaning]> => [
        [name.trim(), meaning],
        [plain(name), meaning],
      ])
    ),
  )

/** Returns the meaning of a name; undefined if it is unknown or no name. */
export const meaningIn = (meanings: Meanings, stated: unknown): Meaning | undefined => {
  const name = nameOf(stated)
  return name === undefined ? undefined : meanings.get(name) ?? meanings.get(plain(name))
}
