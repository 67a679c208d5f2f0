const paths = {
  home: "M3 10.5 12 3l9 7.5V20a1 1 0 0 1-1 1h-5v-6H9v6H4a1 1 0 0 1-1-1z",
  settings: "M4 21v-7M4 10V3M12 21v-9M12 8V3M20 21v-5M20 12V3M1.5 14h5M9.5 8h5M17.5 16h5",
  key:
    "m21 2-2 2m-7.6 7.6a5.5 5.5 0 1 1-7.78 7.78 5.5 5.5 0 0 1 7.78-7.78Zm0 0L15.5 7.5m0 0 3 3L22 7l-3-3m-3.5 3.5L19 4",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5",
  template: "M4 4h16v16H4zM4 9h16M9 9v11",
  calendar: "M3.5 5.5h17v15h-17zM3.5 10h17M8 3v5M16 3v5",
  review: "M9 11l3 3 8-9M20 12v7a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1h10",
  snippet: "M4 4h7v6H4zM15 5h5M15 9h5M4 14h16M4 18h16M4 21h9",
  image: "M3.5 5h17v14h-17zM3.5 16l5-5 4.5 4.5 2.5-2.5 5 5M15.5 9.5h.01",
  sandbox: "M9 3h6M10 3v6l-5.5 9.5A1.7 1.7 0 0 0 6 21h12a1.7 1.7 0 0 0 1.5-2.5L14 9V3M7.5 15h9",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 21 21",
  mail: "M3 5.5h18v13H3zM3 6.5l9 7 9-7",
  bell: "M18 16v-5a6 6 0 0 0-12 0v5l-2 2h16zM10 21h4",
  announce: "M3 10v4h4l7 5V5L7 10zM17.5 9a4 4 0 0 1 0 6M20 6.5a8 8 0 0 1 0 11",
  incoming: "M12 3v11M7.5 9.5 12 14l4.5-4.5M4 16v4h16v-4",
  outgoing: "M12 14V3M7.5 7.5 12 3l4.5 4.5M4 16v4h16v-4",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
} as const

/** The name of a drawing. */
export type IconName = keyof typeof paths

/** A line drawing next to a word with the same meaning. It is hidden from screen readers. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="1.8"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={paths[name]} />
  </svg>
)

/** The mark of the product. */
export const Mark = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="currentColor" />
    <path
      d="M9 21V11h8a4 4 0 0 1 0 8h-5l-3 4z"
      fill="none"
      stroke="var(--on-accent)"
      stroke-width="2.4"
      stroke-linejoin="round"
    />
    <circle cx="23.5" cy="21.5" r="1.9" fill="var(--on-accent)" />
  </svg>
)
