import type { NormalizedEvent } from "../../../src/domain/Event.ts"
import { eventKinds } from "../../../src/domain/EventKinds.ts"

/** The first e-mail address in a body. */
const addressIn = (body: unknown) => /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(JSON.stringify(body))?.[0]

/** The expected event of a body. Negative events and events about people include the address. */
export const withAddress = <A extends Omit<NormalizedEvent, "key">>(expected: A, body: unknown): A => {
  const { event, messageKey, trackingId } = expected
  const isOfPerson = trackingId === undefined && messageKey === undefined && event !== "conversion"
  const email = eventKinds[event].category === "negative" || isOfPerson ? addressIn(body) : undefined
  return email === undefined ? expected : { ...expected, email }
}
