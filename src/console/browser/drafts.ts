// Stores the text of the editor as a draft while one types, and warns before text is left that is stored nowhere. Without
// this, the button "Save as draft" does so.

import { all, controlOf, need } from "./dom.ts"
import { t } from "./language.ts"

const form = document.querySelector<HTMLFormElement>("form[data-autosave]")
if (form !== null) {
  const status = need(form, "[data-draft-status]")
  const problem = need(form, "[data-draft-problem]")
  const account = controlOf(form, "_account")
  need(form, "[data-save-draft]").hidden = true
  // Choosing a person uses it.
  const use = need(form, "[data-use-person]")
  use.hidden = true
  controlOf(form, "person").addEventListener("change", () => form.requestSubmit(use))

  const isOfVariant = (name: string) => /^(?:name|id|active|components|(?:var|locale|condition|season)_.+)$/.test(name)
  /** From the last key to the request. Unit: milliseconds, as below. */
  const pause = 1_500
  const retryAfter = 10_000

  let isDirty = false
  let isLeaving = false
  /** Whether the token was taken over since the last success. */
  let isRenewed = false
  /** Drafts of another window are not overwritten. */
  let isStopped = false
  let sending: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const say = (text: string) => {
    if (status.textContent !== text) status.textContent = text
  }

  /** Shows a problem with a link; without arguments there is none. */
  const warn = (text = "", link?: { readonly href: string; readonly label: string }) => {
    problem.hidden = text === ""
    if (problem.dataset["shown"] === text) return
    problem.dataset["shown"] = text
    const line = document.createElement("p")
    line.append(text)
    if (link !== undefined) {
      const anchor = document.createElement("a")
      Object.assign(anchor, { href: link.href, target: "_blank", rel: "noopener", textContent: link.label })
      line.append(" ", anchor)
    }
    problem.replaceChildren(line)
  }

  const plan = (wait = pause) => {
    clearTimeout(timer)
    if (!isStopped && !isLeaving) timer = setTimeout(save, wait)
  }

  /** After a refusal: takes over the token of a new session of the same account. */
  const renew = async () => {
    const answer = await fetch("/console/api/session")
    if (answer.status === 401) {
      say(t`Draft not saved`)
      return warn(t`Your session has ended. Your text is kept in this page.`, {
        href: "/console/sign-in?next=%2Fconsole%2Fsigned-in",
        label: t`Sign in in a new tab`,
      })
    }
    const session: { readonly account: { readonly email: string }; readonly csrf_token: string } = await answer.json()
    if (session.account.email !== account.value) {
      say(t`Draft not saved`)
      return warn(
        t`${session.account.email} is signed in now, and this text was written as ${account.value}. Sign in
          as that account to store it.`,
      )
    }
    // Refused with a token of this session: the role has changed.
    if (isRenewed) {
      isStopped = true
      say(t`Draft not saved`)
      return warn(t`You are not allowed to store drafts here any more.`)
    }
    isRenewed = true
    for (const input of all<HTMLInputElement>(document, "input[name=_csrf]")) input.value = session.csrf_token
    warn()
    plan(0)
  }

  const send = async (): Promise<void> => {
    // A form of the editor has no files.
    const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    const answer = await fetch(form.dataset["autosave"] ?? "", { method: "POST", body })
    if (answer.status === 403) {
      isDirty = true
      return renew()
    }
    if (answer.status === 409) {
      isStopped = true
      say(t`Draft not saved`)
      return warn(t`Another window has stored a newer draft of yours. This window stores no drafts any more.`, {
        href: location.pathname,
        label: t`Open that draft`,
      })
    }
    const type = answer.headers.get("content-type") ?? ""
    if (!type.startsWith("application/json")) throw new Error(String(answer.status))
    const { is_overtaken: isOvertaken, saved_at: savedAt, text } = await answer.json()
    if (!answer.ok) {
      // The text can be corrected. Typing meanwhile was ignored by `save`.
      if (isDirty) plan()
      isDirty = true
      say(t`Draft not saved`)
      return warn(text)
    }
    isRenewed = false
    controlOf(form, "draft").value = savedAt
    say(text)
    if (isOvertaken) warn(t`Somebody else has saved this variant meanwhile. Saving it shows both texts.`)
    else warn()
  }

  const save = () => {
    clearTimeout(timer)
    if (!isDirty || isStopped || sending !== undefined) return
    isDirty = false
    sending = send().catch(() => {
      isDirty = true
      say(t`Draft not saved. Trying again.`)
      plan(retryAfter)
    }).finally(() => {
      sending = undefined
      if (isDirty && problem.hidden) plan()
    })
  }

  form.addEventListener("input", ({ target }) => {
    if (!(target instanceof Element) || !isOfVariant(target.getAttribute("name") ?? "")) return
    isDirty = true
    plan()
  })

  document.addEventListener("submit", (event) => {
    // The preview stays on the page.
    if ((event.submitter?.getAttribute("formtarget") ?? "") !== "") return
    isLeaving = true
    clearTimeout(timer)
    if (sending === undefined) return
    // A draft under way must not arrive after the form that replaces or discards it.
    event.preventDefault()
    const { submitter, target } = event
    if (target instanceof HTMLFormElement) sending.finally(() => target.requestSubmit(submitter))
  })

  addEventListener("beforeunload", (event) => {
    if (!isLeaving && (isDirty || sending !== undefined)) event.preventDefault()
  })
  addEventListener("pageshow", () => isLeaving = false)
  addEventListener("focus", () => isDirty && plan(0))
  document.addEventListener("visibilitychange", () => isDirty && plan(0))

  // A person may have typed before this script ran.
  const isTyped = all<HTMLInputElement | HTMLTextAreaElement>(form, "input[name], textarea[name]")
    .some(({ defaultValue, name, value }) => isOfVariant(name) && value !== defaultValue)
  if (isTyped || form.hasAttribute("data-unsaved")) {
    isDirty = true
    plan()
  }
}
