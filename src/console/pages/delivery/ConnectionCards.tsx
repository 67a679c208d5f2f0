import { type Fault } from "../../../domain/Errors.ts"
import { type ConnectionSetup } from "../../../delivery/Connections.ts"
import type { PlatformName } from "../../../delivery/connections/Platforms.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Choices, Field } from "../../components/Field.tsx"
import { PostButton } from "../../components/Form.tsx"
import { type Fields, type Visit } from "../../Routes.tsx"
import { platformForms } from "./ConnectionForms.ts"
import { Badges, isRefusing, Trouble } from "./ConnectionState.tsx"

/** Labels of the boxes that remove a secret. */
const removals: Readonly<Record<string, string>> = { password: english("Remove the password") }

/** Fields for the secrets of a connection. Stored secrets are not shown. */
const SecretFields = ({ faults, platform, set }: {
  readonly platform: PlatformName
  readonly set: ReadonlyArray<string>
  readonly faults: ReadonlyArray<Fault>
}) => (
  <>
    {Object.entries(platformForms[platform].secrets.fields).map(([name, { at, hint, label, required = true }]) => {
      const isSet = set.includes(at!.at(-1)!)
      return (
        <>
          <Field
            name={name}
            type="password"
            autocomplete="new-password"
            label={required ? translated(label) : t`${translated(label)} (optional)`}
            required={required && !isSet}
            faults={faults}
            hint={isSet ? t`A value is stored and cannot be shown. Leave empty to keep it.` : [
              ...(typeof hint === "string" ? [translated(hint)] : []),
              t`It is stored encrypted and never shown again.`,
            ]
              .join(" ")}
          />
          {isSet && !required && (
            <Choices
              name={`remove-${name}`}
              label={translated(removals[at!.at(-1)!] ?? label)}
              type="checkbox"
              values={[]}
              options={[[
                "yes",
                t`Remove it`,
                t`Remove it together with the user if the server no longer needs a login.`,
              ]]}
            />
          )}
        </>
      )
    })}
  </>
)

/** The states to which a connection can be switched: the state, the verb, and whether it is the advised one. */
export const switchesOf = (
  setup: ConnectionSetup,
): ReadonlyArray<readonly [to: string, verb: string, isAdvised?: boolean]> =>
  setup.enabled
    ? [
      ...(setup.isDefault ? [] : [["default", t`Use for deliveries`] as const]),
      setup.paused || isRefusing(setup) ? ["resumed", t`Resume`, true] : ["paused", t`Pause`],
      ["disabled", t`Disable`],
    ]
    : [["enabled", t`Enable`, true]]

/** Whether the connection sends, and the buttons that change that. */
export const StateCard = ({ at, complaints, inUse, mayChange, org, setup }: {
  readonly at: string
  readonly complaints: string | null
  readonly inUse: boolean
  readonly mayChange: boolean
  readonly org: Visit["org"]
  readonly setup: ConnectionSetup
}) => (
  <Card stacked>
    <div class="source-head">
      <h2>{t`State`}</h2>
      <Badges setup={setup} inUse={inUse} />
    </div>
    <Trouble setup={setup} zone={org.time_zone} />
    <p class="muted">
      {!setup.enabled
        ? t`Disabled. It sends no messages.`
        : setup.paused || isRefusing(setup)
        ? t`Paused. Due messages wait until you resume.`
        : inUse
        ? t`In use for all deliveries.`
        : t`On standby: another connection is in use.`}
    </p>
    {complaints !== null && (
      <p class="muted">
        {t`Address for complaints, to register with the feedback loops of mailbox providers: ${(
          <code>{complaints}</code>
        )}`}
      </p>
    )}
    {mayChange && (
      <div class="buttons">
        {switchesOf(setup).map(([to, verb, isAdvised = false]) => (
          <PostButton to={`${at}/switch`} fields={{ to }} kind={isAdvised ? "primary" : "plain"}>{verb}</PostButton>
        ))}
      </div>
    )}
  </Card>
)

/** The fields of a connection's settings and secrets. `set`: the names of the stored secrets. */
export const ConnectionFields = ({ faults, platform, set, values }: {
  readonly platform: PlatformName
  readonly set: ReadonlyArray<string>
  readonly values: Fields
  readonly faults: ReadonlyArray<Fault>
}) => {
  const { settings } = platformForms[platform]
  return (
    <>
      <settings.Fields values={values} faults={faults} />
      <SecretFields platform={platform} set={set} faults={faults} />
      <settings.FurtherFields values={values} faults={faults} />
    </>
  )
}

/** The settings for people who may not change them. */
export const SettingsCard = ({ setup, values }: {
  readonly setup: ConnectionSetup
  readonly values: Fields
}) => (
  <Card title={t`Settings`}>
    <Facts
      rows={[
        ...Object.entries(platformForms[setup.platform].settings.labels).map(([name, label]) =>
          (values[name] ?? "") !== "" && [translated(label), values[name]] as const
        ),
        [t`Secrets`, setup.secrets.length === 0 ? t`none` : t`set: ${setup.secrets.join(", ")}`],
      ]}
    />
  </Card>
)

/** The link to DKIM signatures and test messages. */
export const ReceiversCard = ({ at }: { readonly at: string }) => (
  <Card stacked title={t`Receivers`}>
    <p>
      {t`Sign messages with DKIM, and send a test message to check DNS records, the unsubscribe header and
        the plain text.`}
    </p>
    <div class="buttons">
      <a class="button" href={`${at}/receivers`}>{t`Signatures and test messages`}</a>
    </div>
  </Card>
)
