import { type Letter, letterOf } from "../mail/Letters.ts"

// The forms of a weekly report: a mail, a message for Slack and a card for Microsoft Teams. Pure.

/** A number with its label, and with its interval or rule. */
interface ReportFigure {
  readonly label: string
  readonly value: string
  readonly detail: string
}

/** The results of a template in words, as the results page has them. */
export interface ReportWords {
  readonly headline: string
  /** Advice, such as `Keep running about 6 days`. May be empty. */
  readonly advice: string
  /** The lifts, the gain, and the week. */
  readonly figures: ReadonlyArray<ReportFigure>
  /** Variants with their rates, best first. */
  readonly rates: ReadonlyArray<ReportFigure>
  /** The days that rates describe, and the promise of intervals. */
  readonly rules: string
}

/** A report with its addresses. */
export interface WeeklyReport extends ReportWords {
  readonly org: string
  readonly template: string
  /** URL of the results page. */
  readonly results: string
  /** URL of the page where the member changes the subscription. */
  readonly settings: string
}

const titleOf = ({ org, template }: WeeklyReport) => `${template} · Monday report · ${org}`

const lineOf = ({ detail, label, value }: ReportFigure) => `${label}: ${value}${detail === "" ? "" : ` (${detail})`}`

/** The report as a mail. `unsubscribe` is the URL that ends the subscription. */
export const reportLetter = (report: WeeklyReport, unsubscribe: string): Letter =>
  letterOf({
    subject: titleOf(report),
    parts: [
      { paragraph: `${report.headline}.${report.advice === "" ? "" : ` ${report.advice}.`}` },
      ...[...report.figures, ...report.rates].map((figure) => ({ paragraph: lineOf(figure) })),
      { label: "Open the results", url: report.results },
    ],
    foot: [
      { paragraph: report.rules },
      { label: "Change or end this report", url: report.settings },
      { label: "Unsubscribe", url: unsubscribe },
    ],
    unsubscribe,
  })

/** Escapes text for `mrkdwn` of Slack, in which `&`, `<` and `>` are control characters. */
const slackText = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** Cuts a text to `most` characters. */
const cut = (text: string, most: number) => text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

/**
 * The body for an incoming webhook of Slack: blocks, and a text for notifications. A header holds 150 characters, a
 * section 3,000. Source: Slack's reference of blocks.
 */
export const slackBody = (report: WeeklyReport) => {
  const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text: cut(text, 3_000) } })
  const lines = (figures: ReadonlyArray<ReportFigure>) =>
    figures.map(({ detail, label, value }) =>
      `*${slackText(label)}*: ${slackText(value)}${detail === "" ? "" : ` (${slackText(detail)})`}`
    ).join("\n")
  const advice = report.advice === "" ? "" : `\n${slackText(report.advice)}.`
  return {
    text: cut(`${titleOf(report)}: ${report.headline}`, 3_000),
    blocks: [
      { type: "header", text: { type: "plain_text", text: cut(titleOf(report), 150) } },
      section(`*${slackText(report.headline)}.*${advice}`),
      ...[report.figures, report.rates].filter((figures) => figures.length > 0).map((figures) =>
        section(lines(figures))
      ),
      section(slackText(report.rules)),
      section(`<${report.results}|Open the results> · <${report.settings}|Change or end this report>`),
    ],
  }
}

/** Escapes the characters that are Markdown in a `TextBlock` of an Adaptive Card. */
const cardText = (text: string) => text.replace(/[\\*_[\]()`#>~-]/g, "\\$&")

/**
 * The body for a webhook of Teams Workflows ("When a Teams webhook request is received"): a message with one Adaptive
 * Card. Source: Microsoft's page "Create incoming webhooks with Workflows for Microsoft Teams".
 */
export const teamsBody = (report: WeeklyReport) => {
  const facts = (figures: ReadonlyArray<ReportFigure>) => ({
    type: "FactSet",
    facts: figures.map(({ detail, label, value }) => ({
      title: label,
      value: `${value}${detail === "" ? "" : ` (${detail})`}`,
    })),
  })
  const text = (text: string, more: object = {}) => ({ type: "TextBlock", text: cardText(text), wrap: true, ...more })
  return {
    type: "message",
    attachments: [{
      contentType: "application/vnd.microsoft.card.adaptive",
      contentUrl: null,
      content: {
        $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        body: [
          text(titleOf(report), { size: "Medium", weight: "Bolder" }),
          text(`${report.headline}.${report.advice === "" ? "" : ` ${report.advice}.`}`),
          ...[report.figures, report.rates].filter((figures) => figures.length > 0).map(facts),
          text(report.rules, { size: "Small", isSubtle: true }),
        ],
        actions: [
          { type: "Action.OpenUrl", title: "Open the results", url: report.results },
          { type: "Action.OpenUrl", title: "Change or end this report", url: report.settings },
        ],
      },
    }],
  }
}
