import type { UnsubscribePage } from "../domain/Tracking.ts"
import type { TrackedOrganization } from "./Tracking.ts"

// Pages for links in messages: plain HTML without a script, for light and dark mode.

interface Texts extends UnsubscribePage {
  /** Shown if the service cannot store the request. */
  readonly later: string
}

const later = "This did not work just now. Please try again in a minute."

/** The built-in texts, English last. English is the fallback for other languages. */
const translations: ReadonlyArray<Texts> = [
  {
    language: "de",
    title: "Abmelden",
    question: "Möchten Sie keine E-Mails mehr von {organization} erhalten?",
    button: "Abmelden",
    done: "Sie sind abgemeldet und erhalten keine E-Mails mehr von {organization}.",
    later: "Das hat gerade nicht funktioniert. Bitte versuchen Sie es in einer Minute noch einmal.",
  },
  {
    language: "es",
    title: "Darse de baja",
    question: "¿Quiere dejar de recibir correos de {organization}?",
    button: "Darme de baja",
    done: "Se ha dado de baja y no recibirá más correos de {organization}.",
    later: "No ha funcionado en este momento. Inténtelo de nuevo en un minuto.",
  },
  {
    language: "fr",
    title: "Se désabonner",
    question: "Souhaitez-vous ne plus recevoir d’e-mails de {organization} ?",
    button: "Me désabonner",
    done: "Vous êtes désabonné et ne recevrez plus d’e-mails de {organization}.",
    later: "Cela n’a pas fonctionné. Veuillez réessayer dans une minute.",
  },
  {
    language: "it",
    title: "Annulla l’iscrizione",
    question: "Non vuole più ricevere e-mail da {organization}?",
    button: "Annulla l’iscrizione",
    done: "L’iscrizione è annullata: non riceverà più e-mail da {organization}.",
    later: "Al momento non ha funzionato. Riprovi tra un minuto.",
  },
  {
    language: "nl",
    title: "Afmelden",
    question: "Wilt u geen e-mails meer ontvangen van {organization}?",
    button: "Afmelden",
    done: "U bent afgemeld en ontvangt geen e-mails meer van {organization}.",
    later: "Dit lukte nu niet. Probeer het over een minuut opnieuw.",
  },
  {
    language: "pt",
    title: "Cancelar a subscrição",
    question: "Deseja deixar de receber e-mails de {organization}?",
    button: "Cancelar a subscrição",
    done: "A subscrição foi cancelada e não receberá mais e-mails de {organization}.",
    later: "Não funcionou agora. Tente novamente dentro de um minuto.",
  },
  {
    language: "en",
    title: "Unsubscribe",
    question: "Do you want to stop receiving e-mails from {organization}?",
    button: "Unsubscribe",
    done: "You are unsubscribed and will receive no more e-mails from {organization}.",
    later,
  },
]

/** Returns the reader's languages of an `Accept-Language` header, preferred language first, without regions. */
const languagesOf = (header: string | undefined): ReadonlyArray<string> =>
  (header ?? "").slice(0, 500).split(",").flatMap((part) => {
    const [tag = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    const quality = Number(parameters.find((text) => text.startsWith("q="))?.slice(2) ?? 1)
    return tag === "" || !(quality > 0) ? [] : [{ language: tag.split("-")[0]!, quality }]
  }).sort((a, b) => b.quality - a.quality).map(({ language }) => language)

/** Returns the texts of an organization's page. Default: the built-in texts in the reader's language. */
const textsFor = (own: UnsubscribePage | null, acceptLanguage: string | undefined): Texts => {
  const english = translations.at(-1)!
  const found =
    languagesOf(acceptLanguage).flatMap((language) => translations.filter((one) => one.language === language))[0] ??
      english
  return own === null ? found : { ...found, ...own }
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const style = `:root { color-scheme: light dark; }
body { font: 18px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 12vh auto; padding: 0 1.25rem; text-align: center; }
h1 { font-size: 1.5rem; } p.organization { color: GrayText; margin: 0; }
button { font: inherit; font-weight: 600; padding: 0.7rem 1.6rem; border-radius: 8px; border: 1px solid currentColor; cursor: pointer; }`

const page = (language: string, title: string, organization: string, content: string): string =>
  `<!doctype html>
<html lang="${
    escape(language)
  }"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escape(title)}</title><style>${style}</style></head>
<body><main>${organization === "" ? "" : `<p class="organization">${escape(organization)}</p>`}<h1>${
    escape(title)
  }</h1>${content}</main></body></html>
`

/** Returns the page that asks for confirmation, confirms the unsubscribe, or reports a failure. */
export const unsubscribePage = (
  { name, unsubscribePage: own }: Pick<TrackedOrganization, "name" | "unsubscribePage">,
  acceptLanguage: string | undefined,
  state: "question" | "done" | "later",
): string => {
  const texts = textsFor(own, acceptLanguage)
  const paragraph = `<p>${escape(texts[state].replaceAll("{organization}", name))}</p>`
  const form = `<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>${
    escape(texts.button.replaceAll("{organization}", name))
  }</button></form>`
  const title = texts.title.replaceAll("{organization}", name)
  return page(texts.language, title, name, state === "done" ? paragraph : paragraph + form)
}

/** The page for an invalid link. */
export const unknownLinkPage = page(
  "en",
  "This link is not valid",
  "",
  "<p>It is incomplete, or the message it was in is too old.</p>",
)

/** The page for a link whose target cannot be read at the moment. */
export const laterPage = page("en", "Please try again in a minute", "", `<p>${later}</p>`)
