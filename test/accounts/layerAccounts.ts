import { Layer } from "effect"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Devices } from "../../src/accounts/Devices.ts"
import { Expired } from "../../src/accounts/Expired.ts"
import { GroupRoles } from "../../src/accounts/GroupRoles.ts"
import { Invitations } from "../../src/accounts/Invitations.ts"
import { Memberships } from "../../src/accounts/Memberships.ts"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { OrganizationChanges } from "../../src/accounts/OrganizationChanges.ts"
import { OwnPasskeys } from "../../src/accounts/OwnPasskeys.ts"
import { OwnSecondFactor } from "../../src/accounts/OwnSecondFactor.ts"
import { Passkeys } from "../../src/accounts/Passkeys.ts"
import { PasswordCost } from "../../src/accounts/Passwords.ts"
import { SecondFactors } from "../../src/accounts/SecondFactors.ts"
import { SecurityLog } from "../../src/accounts/SecurityLog.ts"
import { Sessions } from "../../src/accounts/Sessions.ts"
import { Signatures } from "../../src/accounts/Signatures.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { SignInLimits } from "../../src/accounts/SignInLimits.ts"
import { SecretBox } from "../../src/store/SecretBox.ts"
import { MailQueue } from "../../src/mail/MailQueue.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Changes } from "../../src/organizations/Changes.ts"

/** A password hash that costs next to nothing. */
export const cheap = { logN: 10, r: 8, p: 1 }

/** Everything about accounts, over a migrated store. */
export const layerAccounts = Layer.mergeAll(OwnPasskeys.layer, OwnSecondFactor.layer, OrganizationChanges.layer).pipe(
  Layer.provideMerge(SignIn.layer),
  Layer.provideMerge(Devices.layer),
  Layer.provideMerge(Layer.mergeAll(
    Accounts.layer,
    Expired.layer,
    GroupRoles.layer,
    Invitations.layer,
    Memberships.layer,
    OneTimeLinks.layer,
    Passkeys.layer,
    SecondFactors.layer,
    SecurityLog.layer,
    Sessions.layer,
    Signatures.layer,
    SignInLimits.layer,
    Organizations.layer,
  )),
  Layer.provideMerge(MailQueue.layer),
  Layer.provideMerge(SecretBox.layer),
  Layer.provideMerge(Changes.layer),
  Layer.provideMerge(Layer.succeed(PasswordCost, cheap)),
)
