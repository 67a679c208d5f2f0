/**
 * Settings without the limits that protect an installation, because a benchmark is one caller that uses the whole
 * capacity.
 */
export const unlimited = {
  KEY_RATE_LIMIT: "none",
  WEBHOOK_DAILY_BYTES: "none",
}
