// Creates and uses passkeys. Without this script, or in a browser without passkeys, their buttons stay hidden.
import { all, controlOf, need } from "./dom.ts"
import { t } from "./language.ts"

/** Whether the browser has passkeys and reads options as the service sends them. */
const isSupported = typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential && "parseRequestOptionsFromJSON" in PublicKeyCredential

/** Fetches the options for a sign-in. Throws with the words of the service if it refuses. */
const requestOptions = async (form: HTMLFormElement): Promise<PublicKeyCredentialRequestOptionsJSON> => {
  const response = await fetch(`${form.action}/options`, {
    method: "POST",
    body: new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)])),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.message)
  return answer.options
}

/** Asks the browser for a passkey: a new one of the options on the page, or one to sign in with. */
const credentialFor = async (form: HTMLFormElement, options: string | undefined): Promise<Credential | null> =>
  options === undefined
    ? navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(await requestOptions(form)),
    })
    : navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(options)) })

const words: Readonly<Record<string, string>> = {
  InvalidStateError: t`This device has a passkey of your account already.`,
  NotAllowedError: t`The browser ended the request, or you cancelled it. Try again.`,
  SecurityError: t`The browser uses passkeys only at the console's own address.`,
}

for (const part of all(document, "[data-passkeys]")) part.hidden = isSupported === (part.dataset["passkeys"] === "off")

for (const form of isSupported ? all<HTMLFormElement>(document, "[data-passkeys] form[action*=passkey]") : []) {
  const button = form.querySelector<HTMLButtonElement>("button[type=button]")
  button?.addEventListener("click", async () => {
    const status = need(form, "[role=status]")
    status.textContent = t`Your browser asks for the passkey …`
    button.disabled = true
    try {
      const credential = await credentialFor(form, button.dataset["options"])
      controlOf(form, "response").value = JSON.stringify((credential as PublicKeyCredential).toJSON())
      form.submit()
    } catch (error) {
      const { message, name } = error as Error
      status.textContent = words[name] ?? message
      button.disabled = false
    }
  })
}
