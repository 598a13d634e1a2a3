// The announced end of a model at its vendor. A type only.

/** The end of a model at its vendor. */
export interface Retirement {
  /** Milliseconds since 1970 from which the vendor no longer serves the model. */
  at: number
  /** Date of this information, in milliseconds since 1970: the date of its prices. */
  knownAt: number
  /** The model that replaces it, by its id here or the vendor's name. */
  successor?: string
  /** True if requests for the model go to the successor from then on. */
  handsOver: boolean
}
