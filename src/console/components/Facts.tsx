import type { ComponentChildren } from "preact"

/** Names with their values. A fact that is false is left out. */
export const Facts = ({ rows }: {
  readonly rows: ReadonlyArray<false | readonly [name: ComponentChildren, value: ComponentChildren]>
}) => (
  <dl class="facts">
    {rows.map((row) =>
      row && (
        <>
          <dt>{row[0]}</dt>
          <dd>{row[1]}</dd>
        </>
      )
    )}
  </dl>
)
