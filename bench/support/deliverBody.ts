import { person } from "./offer.ts"

/**
 * A request to Deliver without its `email`.
 */
export const deliverBody = { template_id: "welcome", ...person }
