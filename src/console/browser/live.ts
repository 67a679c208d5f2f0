// Renews the elements with `data-live` every few seconds while the page is visible. All pages work without this script.
import { all } from "./dom.ts"
import { t } from "./language.ts"

const everyMillis = 5000
const lastPatience = 60_000
const button = document.getElementById("live-switch")
const state = document.getElementById("live-state")
const still = matchMedia("(prefers-reduced-motion: reduce)")
const remembered = (() => {
  try {
    return sessionStorage.getItem("live")
  } catch {
    return null
  }
})()

let on = remembered === null ? !still.matches : remembered === "on"
let wait = everyMillis
let timer: ReturnType<typeof setTimeout> | undefined

/** The content of a part, without the tokens of its forms, which are new in each response. */
const contentOf = (part: Element) => part.innerHTML.replace(/(name="_csrf" value=)"[^"]*"/g, "$1")

/** Replaces changed parts of the page, except a part that has the focus or is being scrolled. */
const renew = (text: string) => {
  const next = new DOMParser().parseFromString(text, "text/html")
  const liveIn = (page: Document) => all(page, "[data-live]")
  // Where there is more than there was, as after the first message of all, the page is laid out anew; not while one types.
  const known = new Set(liveIn(document).map(({ dataset }) => dataset["live"]))
  if (
    liveIn(next).some(({ dataset }) => !known.has(dataset["live"])) &&
    document.activeElement?.matches("input, select, textarea") !== true
  ) return location.reload()
  for (const part of liveIn(document)) {
    const fresh = next.querySelector(`[data-live="${part.dataset["live"]}"]`)
    if (fresh === null || contentOf(fresh) === contentOf(part) || part.contains(document.activeElement)) continue
    const selection = getSelection()
    if (selection !== null && !selection.isCollapsed && part.contains(selection.anchorNode)) continue
    const boxes = () => all<HTMLInputElement>(part, ".show-rows > input")
    const scrolling = () => all(part, ".table-scroll")
    const isAll = boxes().map((one) => one.checked)
    const scrolled = scrolling().map((one) => one.scrollLeft)
    part.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)))
    scrolling().forEach((one, i) => one.scrollLeft = scrolled[i] ?? 0)
    boxes().forEach((one, i) => one.checked = isAll[i] ?? false)
  }
  document.dispatchEvent(new Event("renewed"))
  const { dataset } = document.documentElement
  dataset["renewed"] = String(Number(dataset["renewed"] ?? 0) + 1)
}

if (button !== null && state !== null) {
  const say = (text: string) => {
    if (state.textContent !== text) state.textContent = text
  }

  const show = () => {
    button.textContent = on ? t`Pause` : t`Update live`
    say(on ? t`Live` : t`Updates paused`)
  }

  const look = async () => {
    if (!on || document.hidden) return
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } })
      if (answer.redirected || answer.status === 401 || answer.status === 403) return location.reload()
      if (!answer.ok) throw new Error(String(answer.status))
      const text = await answer.text()
      if (!on) return
      renew(text)
      wait = everyMillis
      say(t`Live`)
    } catch {
      wait = Math.min(lastPatience, wait * 2)
      say(t`No answer, trying again in ${wait / 1000} s`)
    }
    plan()
  }

  const plan = () => {
    clearTimeout(timer)
    if (on && !document.hidden) timer = setTimeout(look, wait)
  }

  button.hidden = false
  show()
  plan()
  button.addEventListener("click", () => {
    on = !on
    try {
      sessionStorage.setItem("live", on ? "on" : "off")
    } catch {
      // It is forgotten with the page, then.
    }
    show()
    if (on) void look()
    else clearTimeout(timer)
  })
  document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(timer) : void look())
}
