import type { ComponentChildren } from "preact"
import { t, translated } from "../../../languages/Language.ts"
import { coverageText } from "../../../results/ObjectiveText.ts"
import { Badge } from "../../components/Badge.tsx"
import type { Lead } from "./Lead.ts"

/**
 * The leading variant, its lead, the next step, and the conditions of a winner. `actions`: buttons next to the heading.
 * `health`: a line next to the conditions.
 */
export const LeadCard = ({ actions, health, lead }: {
  readonly lead: Lead
  readonly actions?: ComponentChildren
  readonly health?: ComponentChildren
}) => (
  <section class="card lead-card" aria-label={t`Who wins`}>
    <div class="lead-line" role="status" data-live="verdict">
      <p>
        <Badge kind={lead.kind}>{lead.badge}</Badge>
      </p>
      <p class="headline">
        <bdi>{lead.headline}</bdi>
        {lead.advice !== "" && <span class="advice">{lead.advice}</span>}
      </p>
      {lead.reason !== "" && <p class="small muted">{lead.reason}</p>}
      {lead.preferences.length !== 0 && (
        <ul class="preferences">
          {lead.preferences.map((text) => <li dir="auto">{text}</li>)}
        </ul>
      )}
      {lead.steps.length !== 0 && (
        <ul class="steps small" aria-label={t`A winner is named with`}>
          {lead.steps.map(({ done, now, what }) => (
            <li class={done ? "done" : ""}>
              <span class="mark" aria-hidden="true">{done ? "✓" : "○"}</span>
              <span>
                {what} <span class="muted">({done ? t`${now}, reached` : now})</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {lead.figures.length !== 0 && (
        <dl class="figures">
          {lead.figures.map(({ detail, label, value }) => (
            <div>
              <dt>
                <bdi>{label}</bdi>
              </dt>
              <dd>
                {value} <span class="sub">{detail}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {lead.figures.length !== 0 && (
        <p class="small muted">
          {t`Ranges are 95\u00a0% intervals; they held the true value ${translated(coverageText)}.`}
        </p>
      )}
    </div>
    {actions !== undefined && <div class="buttons">{actions}</div>}
    <div class="lead-more">
      {lead.detail !== "" && (
        <details>
          <summary>{t`Why`}</summary>
          <div class="stack" data-live="why">
            <p>{lead.detail}</p>
            {lead.withoutModel !== "" && <p>{lead.withoutModel}</p>}
            <p class="small muted">
              {t`The days that remain are an estimate: they follow from the present difference, its uncertainty and
                the traffic of the last seven days. There is no estimate while the difference is too small, or the
                data too new. The lift over a random split compares the leader with a random choice among the active
                variants.`}
            </p>
          </div>
        </details>
      )}
      {health}
    </div>
  </section>
)
