// The announced end of a model at its vendor. A type only.

/** The end of a model at its vendor. */
export interface Retirement {
  /** Milliseconds since 1970 from which the vendor no longer serves the model. */
  at: number
  /** Milliseconds since 1970 at which its settings say so: the date of its prices. */
  knownAt: number
  /** The model that takes its place, by its id here or the vendor's name. */
  successor?: string
  /** True if requests for the model go to the successor from then on. */
  handsOver: boolean
}
