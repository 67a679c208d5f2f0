/** An estimate with its interval, on a scale that all rows share. The caller shows the numbers. */
export const IntervalBar = ({ interval: [low, high], rate, scale: [from, to], series }: {
  readonly interval: readonly [number, number]
  readonly rate: number
  readonly scale: readonly [number, number]
  readonly series: number
}) => {
  const at = (value: number) => `${Math.round((to > from ? 3 + 94 * (value - from) / (to - from) : 50) * 100) / 100}%`
  return (
    <svg class={`interval s${series}`} height="16" aria-hidden="true">
      <line class="rail" x1="0" x2="100%" y1="8" y2="8" />
      <line class="reach" x1={at(low)} x2={at(high)} y1="8" y2="8" />
      <circle class="dot" cx={at(rate)} cy="8" r="4" />
    </svg>
  )
}
