import { t, translated } from "../../languages/Language.ts"
import type { ConsoleCommand } from "../Commands.ts"

/** The page that searches an organization. */
export const findPath = (base: string) => `${base}/find`

/** The link to the search. With the script of the page it opens the command bar, as Ctrl+K does. */
export const CommandLink = ({ base }: { readonly base: string }) => (
  <a class="command-link" href={findPath(base)} data-command-open>
    {t`Search`} <kbd data-command-key hidden>Ctrl K</kbd>
  </a>
)

/**
 * The command bar: a dialog with the pages and actions of an organization, filtered while one types, and with templates and
 * people that match.
 */
export const CommandBar = ({ base, commands, searches }: {
  readonly base: string
  readonly commands: ReadonlyArray<ConsoleCommand>
  /** Whether the bar adds templates and people while one types. */
  readonly searches: boolean
}) => (
  <dialog class="command-bar" data-command-bar={searches ? "search" : ""} aria-label={t`Search and commands`}>
    <form method="get" action={findPath(base)} role="search">
      <label for="command-text">{t`Page, template, person or action`}</label>
      <input type="search" id="command-text" name="q" autocomplete="off" spellcheck={false} maxLength={400} />
      <p class="visually-hidden" role="status" data-command-count></p>
      <ul data-commands>
        {commands.map(({ href, kind, label }) => (
          <li>
            <a href={href}>
              <span>{label}</span>
              <span class="small muted">{translated(kind)}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="buttons">
        <button type="submit" class="button compact">{t`Search templates and people`}</button>
        <button type="button" class="button compact" data-command-close>{t`Close`}</button>
      </div>
    </form>
  </dialog>
)
