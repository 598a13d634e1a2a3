// Reduces lists of measurements to a few numbers. It must never hide a missing measurement: an empty list gives NaN, which the
// table shows.

export function median(values: readonly number[]): number {
  return quantile([...values].sort(ascending), 0.5)
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The standard error of the mean of some values; NaN for fewer than two. */
export function meanError(values: readonly number[]): number {
  const middle = mean(values)
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0)
  return Math.sqrt(squares / (values.length - 1) / values.length)
}

/** `sorted` ascends. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return Number.NaN
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
}

function ascending(left: number, right: number): number {
  return left - right
}

/** Collects many values without an object for each: a run has millions of them. */
export class Samples {
  private values = new Float64Array(1 << 14)
  private count = 0

  add(value: number): void {
    if (this.count === this.values.length) {
      const larger = new Float64Array(this.values.length * 2)
      larger.set(this.values)
      this.values = larger
    }
    this.values[this.count++] = value
  }

  summary(): { p50: number; p99: number; p999: number; max: number } {
    const sorted = this.values.slice(0, this.count).sort()
    return {
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      p999: quantile(sorted, 0.999),
      max: quantile(sorted, 1),
    }
  }
}
