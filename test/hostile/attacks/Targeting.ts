import type { Attack } from "../Attack.ts"

// Templates of 40 variants with 50 conditions each, all on one attribute, and values that make each of them expensive.

const variants = 40
const conditions = 50

const list = <A>(length: number, make: (index: number) => A): Array<A> =>
  Array.from({ length }, (_, index) => make(index))

const targeting = (
  name: string,
  condition: (index: number) => { readonly op: string; readonly values: ReadonlyArray<string | number> },
  value: unknown,
): Attack => {
  const id = `targeting-${name.replaceAll(/\W+/g, "-")}`
  const body = JSON.stringify({ template_id: id, attrs: { a: value } })
  return {
    name: `targeting: ${name}`,
    bytes: body.length,
    run: async ({ org, send, service }) => {
      await service.manage("POST", `/organizations/${org}/templates`, {
        id,
        name: id,
        variants: list(variants, (variant) => ({
          id: `v${variant}`,
          vars: { subject: "x" },
          targeting: list(conditions, (index) => ({ attribute: "a", ...condition(variant * conditions + index) })),
        })),
      })
      return [await send("POST", `/api/generate/${org}`, body)]
    },
  }
}

const nearlyThere = "a".repeat(300)

export const attacks: ReadonlyArray<Attack> = [
  targeting("a number of 1 MB", () => ({ op: "lt", values: [0] }), "1".repeat(1_000_000)),
  targeting("a text of 1 MB", (index) => ({ op: "contains", values: [`a${index % 10}`] }), "a".repeat(1_000_000)),
  targeting("a number of 1,000 characters", () => ({ op: "gte", values: [0] }), "0".repeat(1_000)),
  targeting(
    "500 numbers, the last of which holds",
    () => ({ op: "gte", values: [2] }),
    [...list(499, () => `1.${"1".repeat(37)}`), "2"],
  ),
  targeting(
    "20 texts of 1,000 characters, the last of which holds",
    () => ({ op: "contains", values: [`${nearlyThere}b`] }),
    [...list(19, () => "a".repeat(1_000)), `${nearlyThere}b`],
  ),
  targeting(
    "500 texts, none of which is in lists of 10",
    (index) => ({ op: "not_in", values: list(10, (value) => `${value}-${index}`) }),
    list(500, (index) => String(index).padStart(39, "x")),
  ),
]
