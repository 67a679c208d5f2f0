import type { ConnectionSetup } from "../../../delivery/Connections.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"

const troubleText = {
  "slow-down": english("Throttled by the platform"),
  failing: english("Attempts fail"),
  broken: english("Accepts no messages"),
  refusing: english("Paused because the platform refuses messages"),
}

const troubleWord = {
  "slow-down": english("slowed down"),
  failing: english("failing"),
  broken: english("broken"),
  refusing: english("refusing"),
}

/** Whether a connection is paused because the platform refuses messages. */
export const isRefusing = ({ trouble }: ConnectionSetup) => trouble?.state === "refusing"

/** The state of a connection in a word. */
export const Badges = ({ inUse, setup }: { readonly setup: ConnectionSetup; readonly inUse: boolean }) => (
  <>
    {!setup.enabled
      ? <Badge>{t`disabled`}</Badge>
      : setup.trouble !== null
      ? <Badge kind="bad">{translated(troubleWord[setup.trouble.state])}</Badge>
      : setup.paused
      ? <Badge kind="warn">{t`paused`}</Badge>
      : <Badge kind="good">{t`ready`}</Badge>} {inUse && <Badge kind="accent">{t`in use`}</Badge>}
  </>
)

/** Why a connection sends nothing now, if it does not. */
export const Trouble = ({ href, setup, zone }: {
  readonly setup: ConnectionSetup
  readonly zone: string
  /** The page of the connection, from another page. */
  readonly href?: string
}) =>
  setup.trouble === null ? null : (
    <Note kind="bad">
      {t`${translated(troubleText[setup.trouble.state])} since ${<Time at={setup.trouble.since} zone={zone} />}: ${
        setup.trouble.reason.replace(/\.?$/, ".")
      }`} {setup.trouble.until === null
        ? t`Fix the cause, then resume the connection. Queued messages wait.`
        : t`Tried again ${<Time at={setup.trouble.until} zone={zone} />}. Queued messages wait.`}{" "}
      {href !== undefined && <a href={href}>{t`Open the connection`}</a>}
    </Note>
  )
