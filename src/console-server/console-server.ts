// What the console needs from the server in addition to the admin API and the paths of keys: its session, sign-in by providers,
// consent for programs, and live events.

import { AttemptLimit } from '../http/attempt-limit'
import type { System } from '../lib/system'
import type { ConsolePlace } from './begin-session'
import { Consent } from './consent'
import { IssuerSignIn, type IssuerSignInWorld } from './issuer-sign-in'
import { Live } from './live'
import type { LiveWorld } from './live-balances'
import { SignIn } from './sign-in'

export class ConsoleServer {
  private readonly signIn: SignIn
  private readonly issuers: IssuerSignIn
  private readonly live: Live
  private readonly consents: Consent

  constructor(world: IssuerSignInWorld & LiveWorld & Pick<System, 'after'>) {
    const logins = new AttemptLimit(world.monotonic)
    this.signIn = new SignIn(world, logins)
    this.issuers = new IssuerSignIn(world, logins)
    this.live = new Live(world, this.signIn)
    this.consents = new Consent(world)
  }

  session(request: Request, place: ConsolePlace): Promise<Response> {
    return this.signIn.answer(request, place)
  }

  /** Sign-in by identity providers. */
  signInByIssuer(request: Request, place: ConsolePlace): Promise<Response> {
    return this.issuers.answer(request, place)
  }

  consent(request: Request, place: ConsolePlace): Promise<Response> {
    return this.consents.answer(request, place)
  }

  watch(request: Request, place: ConsolePlace): Promise<Response> {
    return this.live.answer(request, place)
  }

  /** Ends all streams. */
  stop(): void {
    this.live.stop()
  }
}
