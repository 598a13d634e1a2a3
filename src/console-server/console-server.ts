// What the console asks of the server besides the admin API and the paths of keys: its session, and what happens live.

import type { System } from '../lib/system'
import { Live } from './live'
import type { LiveWorld } from './live-balances'
import { type ConsolePlace, type ConsoleWorld, SignIn } from './sign-in'

export class ConsoleServer {
  private readonly signIn: SignIn
  private readonly live: Live

  constructor(world: ConsoleWorld & LiveWorld & Pick<System, 'after'>) {
    this.signIn = new SignIn(world)
    this.live = new Live(world, this.signIn)
  }

  session(request: Request, place: ConsolePlace): Promise<Response> {
    return this.signIn.answer(request, place)
  }

  watch(request: Request, place: ConsolePlace): Promise<Response> {
    return this.live.answer(request, place)
  }

  /** Ends all streams. */
  stop(): void {
    this.live.stop()
  }
}
