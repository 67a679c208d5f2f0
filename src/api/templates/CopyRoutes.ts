import { Effect } from "effect"
import { Checking } from "../../checking/Checking.ts"
import { convertCopy } from "../../rendering/CopyConversion.ts"
import { managed } from "../http/Managed.ts"

/** Serves `CopyGroup`. */
export const layer = managed(
  "copy",
  Effect.gen(function* () {
    const checking = yield* Checking
    return {
      convertCopy: Effect.fnUntraced(function* ({ body: { formats = {}, from, vars }, org }) {
        const converted = Object.entries(
          yield* convertCopy(org, { from, vars, formats }).pipe(Effect.provideService(Checking, checking)),
        )
        const fields = new Map(converted.flatMap(([, { fields }]) => fields.map(({ from, to }) => [from, to])))
        return {
          vars: Object.fromEntries(converted.map(([name, { liquid }]) => [name, liquid])),
          findings: converted.flatMap(([variable, { findings }]) =>
            findings.map((finding) => ({ variable, ...finding }))
          ),
          fields: [...fields].map(([from, to]) => ({ from, to })),
        }
      }),
    }
  }),
  "first",
)
