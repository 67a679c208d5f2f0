/** @jsxImportSource preact */
import { Effect } from "effect"
import { ChecksBusy } from "../../../domain/Errors.ts"
import { Note } from "../../components/Note.tsx"

// Pages show a preview next to settings, results and variants. They must not depend on the process that renders it, so a
// preview that is not made in time is replaced by a note.

/** Longest wait of a page for a preview. */
export const pagePatience = "5 seconds"

/** A preview that could not be made at this time. */
export class NotPreviewed {
  constructor(readonly reason: string) {}
}

/** The preview, or why it could not be made at this time. */
export const inTime = <A, E, R>(preview: Effect.Effect<A, E | ChecksBusy, R>) =>
  preview.pipe(
    Effect.timeoutOrElse({
      duration: pagePatience,
      orElse: () =>
        Effect.succeed(new NotPreviewed(`It took longer than ${pagePatience}, because the machine is busy.`)),
    }),
    Effect.catchIf(
      (error): error is ChecksBusy & E => error instanceof ChecksBusy,
      ({ message }) => Effect.succeed(new NotPreviewed(message)),
    ),
  )

/** Says why there is no preview. `retry` is the address to load again. */
export const NotPreviewedNote = ({ reason, retry }: NotPreviewed & { readonly retry: string | undefined }) => (
  <Note kind="warn">
    <p>
      <b>The preview could not be made.</b> {reason} Nothing is known to be wrong with the content.{" "}
      {retry === undefined ? "Preview it again." : <a href={retry}>Try again</a>}
    </p>
  </Note>
)
