// A count with its noun, such as `1 charge` and `2 charges`. Works only for nouns whose plural ends in s.

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
