import { Context } from "effect"
import type { DkimSigner } from "../../text/Email.ts"

/** The key that signs the messages of a connection being opened. Default: undefined, messages are not signed. */
export const DkimSigning = Context.Reference<DkimSigner | undefined>("parlance/delivery/dkim/DkimSigning", {
  defaultValue: () => undefined,
})
