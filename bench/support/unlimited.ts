/** Settings without the limits that protect an installation: a benchmark is one caller that asks for all there is. */
export const unlimited = {
  KEY_RATE_LIMIT: "none",
  WEBHOOK_DAILY_BYTES: "none",
}
