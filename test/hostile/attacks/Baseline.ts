import type { Attack } from "../Attack.ts"

/** No attack: the figures that the others compare with. */
export const attacks: ReadonlyArray<Attack> = [{
  name: "none, 20 ordinary requests",
  bytes: 30,
  run: async ({ org, send }) => {
    const statuses: Array<number> = []
    const body = JSON.stringify({ template_id: "welcome" })
    for (let i = 0; i < 20; i++) statuses.push(await send("POST", `/api/generate/${org}`, body))
    return statuses
  },
}]
