import { Layer } from "effect"
import { Accounts } from "./Accounts.ts"
import { Audit } from "./Audit.ts"
import { AuditChain } from "./AuditChain.ts"
import { Devices } from "./Devices.ts"
import { Expired } from "./Expired.ts"
import { ForgottenPasswords } from "./ForgottenPasswords.ts"
import { GroupRoles } from "./GroupRoles.ts"
import { Invitations } from "./Invitations.ts"
import { MemberNames } from "./MemberNames.ts"
import { Memberships } from "./Memberships.ts"
import { OneTimeLinks } from "./OneTimeLinks.ts"
import { OpenId } from "./OpenId.ts"
import { OwnPasskeys } from "./OwnPasskeys.ts"
import { OwnSecondFactor } from "./OwnSecondFactor.ts"
import { Passkeys } from "./Passkeys.ts"
import { SecondFactors } from "./SecondFactors.ts"
import { SecurityLog } from "./SecurityLog.ts"
import { SessionCookie } from "./SessionCookie.ts"
import { Sessions } from "./Sessions.ts"
import { Signatures } from "./Signatures.ts"
import { SignIn } from "./SignIn.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** All services for people who work in the console. Requires a migrated store. */
export const layer = Layer.mergeAll(OwnPasskeys.layer, OwnSecondFactor.layer, ForgottenPasswords.layer).pipe(
  Layer.provideMerge(SignIn.layer),
  Layer.provideMerge(Devices.layer),
  Layer.provideMerge(Layer.mergeAll(
    Accounts.layer,
    Audit.layer,
    AuditChain.layer,
    Expired.layer,
    GroupRoles.layer,
    Invitations.layer,
    MemberNames.layer,
    Memberships.layer,
    OneTimeLinks.layer,
    OpenId.layer,
    Passkeys.layer,
    SecondFactors.layer,
    SecurityLog.layer,
    SessionCookie.layer,
    Sessions.layer,
    Signatures.layer,
    SignInLimits.layer,
  )),
)
