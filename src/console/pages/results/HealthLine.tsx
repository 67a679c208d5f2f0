import { english, t, translated } from "../../../languages/Language.ts"
import { findingText, type Health, type HealthCheck, healthLine, healthWords } from "../../../results/Health.ts"
import { count, percent } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"

const names: Readonly<Record<HealthCheck["check"], string>> = {
  failed_renderings: english("Failed renderings"),
  sent: english("Sends reported as sent"),
  split: english("Split against expected"),
  people: english("Heaviest people"),
  machines: english("Machines"),
  outside_window: english("Events outside the window"),
  repeated_ids: english("Repeated ids"),
}

const kinds = { green: "good", amber: "warn", red: "bad", unknown: "plain" } as const

/** The caption of the table of a check, and the names of the columns of `count` and `of`. */
const columns: Partial<Readonly<Record<HealthCheck["check"], readonly [string, string, string]>>> = {
  failed_renderings: [english("Failed by variant"), english("Failed"), english("Tried")],
  sent: [english("Reported by variant"), english("Reported"), english("Sends")],
  split: [english("Chosen by variant"), english("Chosen"), english("Expected")],
}

const ByVariant = ({ check, names, variants }: HealthCheck & { readonly names: ReadonlyMap<string, string> }) => {
  const [caption = "", ...headings] = (columns[check] ?? []).map(translated)
  if (headings.length === 0 || variants.length === 0) return null
  return (
    <Table
      cards="tiles"
      caption={caption}
      headings={[t`Variant`, ...headings, t`Ratio`]}
      rows={variants.map((one) => [
        <bdi key={one.copy_id}>{names.get(one.copy_id) ?? one.copy_id}</bdi>,
        count(one.count),
        count(Math.round(one.of)),
        one.of > 0 ? percent(one.count / one.of) : "–",
      ])}
    />
  )
}

/** One line on whether the comparison can be believed, which opens into its checks. `variants`: names by id. */
export const HealthLine = ({ health, variants, zone }: {
  readonly health: Health
  readonly variants: ReadonlyMap<string, string>
  readonly zone: string
}) => (
  <details class="health" data-live="health">
    <summary>
      <Badge kind={kinds[health.state]}>{t`Health: ${translated(healthWords[health.state])}`}</Badge>
      <span class="hint">{healthLine(health)}</span>
    </summary>
    <div class="stack">
      {health.checks.map((check) => (
        <section key={check.check}>
          <p>
            <Badge kind={kinds[check.state]}>{translated(healthWords[check.state])}</Badge>{" "}
            <b>{translated(names[check.check])}.</b> {findingText(check)}
          </p>
          <ByVariant {...check} names={variants} />
        </section>
      ))}
      <p class="small muted">
        {t`Choices and people come from ${count(health.decisions)} sends since ${(
          <Time
            at={health.from}
            zone={zone}
          />
        )}. No verdict is firm while a check
          says “${translated(healthWords.red)}”.`}
      </p>
    </div>
  </details>
)
