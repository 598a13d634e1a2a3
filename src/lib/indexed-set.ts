// A set whose members are added and removed by the thousand, such as running requests. JavaScriptCore's own Set keeps deleted
// members reachable until a full collection, so memory and collection time grow. It must never hold a member after `delete`.

export interface Member {
  /** Index of the member in its set; -1 outside of any. */
  index: number
}

export class IndexedSet<Each extends Member> {
  readonly #members: Each[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Each): void {
    member.index = this.#members.push(member) - 1
  }

  /** Removes a member by moving the last one to its index. Does nothing if the member was already removed. */
  delete(member: Each): void {
    const { index } = member
    if (index === -1) return
    member.index = -1
    const last = this.#members.pop() as Each
    if (last === member) return
    this.#members[index] = last
    last.index = index
  }

  /** A copy of the current members, which stays the same while members are removed. */
  all(): readonly Each[] {
    return this.#members.slice()
  }
}
