import { stoppingRule } from "../../../bandit/Winner.ts"
import type { Objective } from "../../../domain/Template.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { percent } from "../../charts/Numbers.ts"

// What the results of a template say, in words.

/** `clicks`, or the sum of a mix. */
export const objectiveText = (objective: Objective): string =>
  typeof objective === "string"
    ? `${objective}s`
    : Object.entries(objective).map(([outcome, weight]) => `${weight} × ${outcome}`).join(" + ")

/** `click rate`, or the worth of a decision by a mix. */
export const rateName = (objective: Objective): string =>
  typeof objective === "string" ? `${objective} rate` : "value per decision"

export const list = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

/** `plan is pro, daypart is morning`. */
export const segmentText = (segment: Readonly<Record<string, string>>): string =>
  list(Object.entries(segment).map(([name, value]) => `${name} is ${value}`))

/** A segment as the query names it. */
export const segmentQuery = (segment: Readonly<Record<string, string>>): string =>
  Object.entries(segment).map((pair) => pair.map(encodeURIComponent).join("=")).join("&")

/** What is known about who wins. */
export interface Verdict {
  readonly kind: "good" | "accent" | "plain"
  readonly badge: string
  readonly headline: string
  readonly detail: string
  /** What has to come true before there is a winner: how much of it there is, 0 to 1. */
  readonly steps: ReadonlyArray<{ readonly what: string; readonly now: string; readonly done: boolean }>
}

/** The winner in words, with how sure that is; while there is none, what is missing. */
export const verdictOf = ({ variants, winner }: Pick<TemplateResults, "variants" | "winner">): Verdict => {
  const { leader } = winner
  const name = variants.find(({ copy_id }) => copy_id === leader)?.name ?? leader ?? ""
  const best = percent(winner.p_best ?? 0)
  const loss = percent(winner.expected_loss ?? 0)
  const rule = percent(stoppingRule.loss)
  switch (winner.verdict) {
    case "firm_winner":
      return {
        kind: "good",
        badge: "Firm winner",
        headline: `${name} wins`,
        detail: `It is the best with a probability of ${best}. Choosing it for good is expected to lose no more than ` +
          `${loss} of its rate.`,
        steps: [],
      }
    case "winner":
      return {
        kind: "good",
        badge: "Winner",
        headline: `${name} wins`,
        detail: `Choosing it for good is expected to lose no more than ${loss} of its rate. It is the best with a ` +
          `probability of ${best}; from ${percent(stoppingRule.probability)} on the winner would be firm.`,
        steps: [],
      }
    case "no_difference":
      return {
        kind: "accent",
        badge: "No meaningful difference",
        headline: "The variants do equally well",
        detail: `Whichever is best, less than ${rule} is left to gain over ${name}. Keep the one you like.`,
        steps: [],
      }
    case "undecided": {
      const open = { kind: "plain", badge: "Undecided" } as const
      if (leader === null) {
        return {
          ...open,
          headline: "No variant is active",
          detail: "Nothing is chosen until a variant is switched on, and within its season.",
          steps: [],
        }
      }
      if (winner.waiting_for.includes("variants")) {
        return {
          ...open,
          headline: `${name} has nothing to be compared with`,
          detail: "It is the only active variant. Switch another one on to learn which does better.",
          steps: [],
        }
      }
      if (winner.days === 0) {
        return {
          ...open,
          headline: "There is no data yet",
          detail: "Every variant has the same chance until the first outcomes come in.",
          steps: [],
        }
      }
      return {
        ...open,
        headline: `${name} leads, but it is too early to name a winner`,
        detail:
          `It is the best with a probability of ${best}. Traffic moves towards what does well while this is found out.`,
        steps: [
          {
            what: `${stoppingRule.days} days of data`,
            now: `${Math.floor(winner.days * 10) / 10} so far`,
            done: winner.days >= stoppingRule.days,
          },
          {
            what: `${stoppingRule.maturedSends} decisions for ${name} that had time to show an effect`,
            now: `${Math.floor(winner.matured_sends)} so far`,
            done: winner.matured_sends >= stoppingRule.maturedSends,
          },
          {
            what: `an expected loss below ${rule}`,
            now: `${loss} now`,
            done: (winner.expected_loss ?? 1) < stoppingRule.loss,
          },
        ],
      }
    }
  }
}
