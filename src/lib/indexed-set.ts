// The members of something that come and go by the thousand, such as requests in flight. Not a Set: JavaScriptCore's keeps
// what was deleted from it reachable until a full collection, so that every request of the last seconds stays in memory
// and each collection has to walk them all. It must never hold a member after `delete`.

export interface Member {
  /** Where it stands in its roster; -1 where it stands in none. */
  place: number
}

export class Roster<Each extends Member> {
  readonly #members: Each[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Each): void {
    member.place = this.#members.push(member) - 1
  }

  /** The last one takes the place of one that leaves. Nothing happens to one that has left already. */
  delete(member: Each): void {
    const { place } = member
    if (place === -1) return
    member.place = -1
    const last = this.#members.pop() as Each
    if (last === member) return
    this.#members[place] = last
    last.place = place
  }

  /** Those that are there now; it does not change while members leave. */
  all(): readonly Each[] {
    return this.#members.slice()
  }
}
