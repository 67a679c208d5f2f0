import type { Effect } from "effect"
import type { mailWorld } from "../../support/mailWorld.ts"
import type { Recorder } from "./Recorder.ts"

// The shop of the examples, and how they are called.

export const root = "/console/api"
export const org = `${root}/organizations/acme`
export const password = "correct horse battery staple"

export const template = {
  id: "cart",
  name: "Cart reminder",
  objective: "click",
  list_unsubscribe: true,
  variants: [
    {
      id: "question",
      vars: { subject: "{{ name }}, still thinking?", html: '<p><a href="https://shop.example/">Your cart</a></p>' },
      formats: { html: "html" },
    },
    {
      id: "offer",
      vars: { subject: "10% off your cart", html: '<p><a href="https://shop.example/">Your cart</a></p>' },
      formats: { html: "html" },
    },
  ],
}

export type Auth = Readonly<Record<string, string>>

export interface Stage extends Pick<Recorder, "call"> {
  readonly world: Effect.Success<typeof mailWorld>
}
