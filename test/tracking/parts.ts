import { read } from "../support/platformServers/MimeReader.ts"

/** A browser that people use. */
export const chrome =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"

/** The parts of a message, with the addresses in them that lead to the service. */
export const partsOf = (raw: string) => {
  const { headers, parts } = read(raw)
  const [text, html] = parts.map((part) => part.text)
  const of = (route: string, from: string | undefined) =>
    [...(from ?? "").matchAll(new RegExp(`http://127\\.0\\.0\\.1:\\d+/${route}/[\\w.-]*[\\w-]`, "g"))].map(([url]) =>
      url
    )
  return {
    headers,
    text: text ?? "",
    html: html ?? "",
    pixels: of("o", html),
    clicks: of("c", html),
    textClicks: of("c", text),
    unsubscribes: of("u", html),
    textUnsubscribes: of("u", text),
  }
}

/** The response of an address, without following redirects. */
export const get = async (url: string, headers: Record<string, string> = { "user-agent": chrome }, method = "GET") => {
  const response = await fetch(url, { method, headers, redirect: "manual" })
  return { status: response.status, headers: response.headers, body: await response.text() }
}
