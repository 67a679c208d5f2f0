import { connectionTo, startSink } from "../../process/deliverSink.ts"
import { waitUntil } from "../../support/service.ts"
import type { Attack, Target } from "../Attack.ts"

// E-mails that are expensive to compose, through a connection to a real SMTP server.

/** The fields of a message: its parts, which the template renders as they are. */
interface Parts {
  readonly subject?: string
  readonly html: string
  readonly preheader?: string
}

/** Close to the largest body of a request. Unit: bytes. */
const size = 900_000
const repeat = (piece: string, bytes = size): string => piece.repeat(Math.floor(bytes / piece.length))
const nest = (tag: string, depth: number, content: string): string =>
  `<${tag}>`.repeat(depth) + content + `</${tag}>`.repeat(depth)

const vars = { subject: "{{ subject }}", body: "{{ html | raw }}", preheader: "{{ preheader }}" }

const setUp = async ({ org, service }: Target, port: number): Promise<void> => {
  const manage = async (method: string, path: string, body: unknown) => {
    const { status } = await service.manage(method, `/organizations/${org}${path}`, body)
    if (status > 201 && status !== 409) throw new Error(`${method} ${path} was answered ${status}`)
  }
  await manage("POST", "/templates", {
    id: "mail",
    name: "Mail",
    variants: [{ id: "a", vars, formats: { subject: "text", body: "html", preheader: "text" } }],
  })
  await manage("PUT", "/connections/mail", { ...connectionTo({ kind: "smtp", port }), enabled: true, default: true })
}

/** Waits until every delivery of the attacker has been sent or has failed. */
const ended = ({ org, service }: Target): Promise<void> =>
  waitUntil("every delivery has ended", async () => {
    const { body } = await service.manage("GET", `/organizations/${org}/delivery-summary`)
    return body.queued + body.scheduled + body.sending === 0
  }, 120)

/** Queues the messages, and waits until the service is done with them. */
const attack = (name: string, parts: Parts, count = 1): Attack => {
  const body = JSON.stringify({
    template_id: "mail",
    email: "victim@example.com",
    fields: { subject: "Hello", preheader: "", ...parts },
  })
  return {
    name: `e-mail: ${name}${count === 1 ? "" : `, ${count} messages`}`,
    bytes: body.length,
    run: async (target) => {
      const sink = await startSink("smtp")
      try {
        await setUp(target, sink.port)
        const statuses: Array<number> = []
        while (statuses.length < count) statuses.push(await target.send("POST", `/api/deliver/${target.org}`, body))
        await ended(target)
        return statuses
      } finally {
        await sink.stop()
      }
    },
  }
}

/** Quotations in quotations, whose prefixes make up most of the plain text. */
const quotations = repeat(nest("blockquote", 190, "<p>x".repeat(1_000)))

export const attacks: ReadonlyArray<Attack> = [
  attack("nested tags", { html: repeat("<b>") }),
  attack("nested blocks", { html: repeat("<div>") }),
  attack("nested lists", { html: repeat("<ul><li>") }),
  attack("nested tables", { html: repeat("<table><tr><td>") }),
  attack("nested tags that are closed", { html: nest("i", 128_000, "x") }),
  attack("unclosed paragraphs", { html: repeat("<p>x") }),
  attack("unclosed list items", { html: `<ul>${repeat("<li>x")}` }),
  attack("a table of 90,000 rows", { html: `<table>${repeat("<tr><td>x")}</table>` }),
  attack("body tags that do not end", { html: repeat("<body", 22_000 * 5), preheader: "x" }),
  attack("900 kB of body tags that do not end", { html: repeat("<body"), preheader: "x" }),
  attack("body tags with quotes that do not end", { html: repeat("<body \"'"), preheader: "x" }),
  attack("entities", { html: repeat("&amp;") }),
  attack("ampersands", { html: repeat("&") }),
  attack("a link of 900 kB", { html: `<a href="https://shop.example/${repeat("x")}">here</a>` }),
  attack("40,000 links", { html: repeat('<a href="https://x/">a</a>') }),
  attack("comments that do not end", { html: repeat("<!--") }),
  attack("attributes without an end", { html: `<a ${repeat("x=y ")}` }),
  attack("attributes with integers for names", {
    html: `<a ${Array.from({ length: 70_000 }, (_, n) => `${n * 8_192}=1`).join(" ")}>x</a>`,
  }),
  attack("foreign elements that are not closed", { html: repeat("<div><svg></div>") }),
  attack("quotations in quotations", { html: quotations }),
  attack("quotations in quotations", { html: quotations }, 5),
  attack("headings in headings", { html: `${"<h1>".repeat(490)}${repeat("x ")}` }),
  attack("a subject of 900 kB without spaces", { subject: repeat("a"), html: "x" }),
  attack("a subject of 900 kB of encoded words", { subject: repeat("=?UTF-8?Q?a?= "), html: "x" }),
  attack("a subject of 10,000 other characters", { subject: "é".repeat(10_000), html: "x" }),
  attack("a preheader of 900 kB", { html: "x", preheader: repeat("<\n", 600_000) }),
  attack("text without spaces", { html: repeat("x") }),
  attack("white space", { html: repeat(" \n", 600_000) }),
  attack("characters of three bytes", { html: repeat("漢", size / 3) }),
  attack("nested tags", { html: repeat("<b>") }, 60),
  attack("ordinary HTML of 900 kB", { html: repeat("<p>Hello <b>Ada</b></p>") }, 30),
]
