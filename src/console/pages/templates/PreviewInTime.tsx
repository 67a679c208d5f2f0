import { Context, Duration, Effect } from "effect"
import { ChecksBusy } from "../../../domain/Errors.ts"
import { t } from "../../../languages/Language.ts"
import { Note } from "../../components/Note.tsx"
import { counted } from "../../Format.ts"

// Pages show a preview next to settings, results and variants. They must not depend on the process that renders it, so a
// preview that is not made in time is replaced by a note.

/** Longest wait of a page for a preview. Tests of processes that hang lower it. */
export const PagePatience = Context.Reference<Duration.Duration>("parlance/console/pages/templates/PagePatience", {
  defaultValue: () => Duration.seconds(5),
})

/** A preview that could not be made at this time. */
export class NotPreviewed {
  constructor(readonly reason: string) {}
}

/** The preview, or why it could not be made at this time. A defect is logged, and the rest of the page is shown. */
export const inTime = <A, E, R>(preview: Effect.Effect<A, E | ChecksBusy, R>) =>
  Effect.flatMap(PagePatience, (patience) =>
    preview.pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.succeed(new NotPreviewed(t`It took longer than ${inWords(patience)}, because the machine is busy.`)),
      }),
      Effect.catchIf(
        (error): error is ChecksBusy & E => error instanceof ChecksBusy,
        ({ message }) => Effect.succeed(new NotPreviewed(message)),
      ),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("A preview failed", defect), new NotPreviewed(t`It failed: see the service's log.`))
      ),
    ))

/** A patience for people, such as `5 seconds`. */
export const inWords = (patience: Duration.Duration) => counted(Duration.toSeconds(patience), "second")

/** Says why there is no preview. `retry` is the address to load again. */
export const NotPreviewedNote = ({ reason, retry }: NotPreviewed & { readonly retry: string | undefined }) => (
  <Note kind="warn">
    <p>
      {t`${<b>{t`The preview could not be made.`}</b>} ${reason} Nothing is known to be wrong with the content. ${
        retry === undefined ? t`Preview it again.` : <a href={retry}>{t`Try again`}</a>
      }`}
    </p>
  </Note>
)
