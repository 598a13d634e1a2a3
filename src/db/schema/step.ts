// A step of the schema: statements that run once, in one transaction.

/** A statement that differs between databases; absent if there is nothing to do. */
export interface Variants {
  sqlite?: string
  postgres?: string
  /** For servers that speak PostgreSQL but lack partitions or functions, or whose user may not create them. */
  otherwise?: string
}

export type Step = readonly (string | Variants)[]
