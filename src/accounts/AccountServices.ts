import { Layer } from "effect"
import { Accounts } from "./Accounts.ts"
import { Audit } from "./Audit.ts"
import { Expired } from "./Expired.ts"
import { Invitations } from "./Invitations.ts"
import { Memberships } from "./Memberships.ts"
import { OneTimeLinks } from "./OneTimeLinks.ts"
import { OpenId } from "./OpenId.ts"
import { SecurityLog } from "./SecurityLog.ts"
import { SessionCookie } from "./SessionCookie.ts"
import { Sessions } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** Everything about people who work in the console, over a migrated store. */
export const layer = SignIn.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(
    Accounts.layer,
    Audit.layer,
    Expired.layer,
    Invitations.layer,
    Memberships.layer,
    OneTimeLinks.layer,
    OpenId.layer,
    SecurityLog.layer,
    SessionCookie.layer,
    Sessions.layer,
    SignInLimits.layer,
  )),
)
