(* Sums and products have the derivatives over the real numbers that Derivatives.v computes. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Derivatives.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Diff.
Variables (R : realType) (size_of : nat -> nat) (scalar : nat -> R) (t0 : R).

Lemma derive_sum n (h : nat -> R -> R) (dh : nat -> R) :
  (forall x, (x < n)%N -> is_derive t0 (1 : R) (h x) (dh x)) ->
  is_derive t0 (1 : R) (fun t => \sum_(0 <= x < n) h x t) (\sum_(0 <= x < n) dh x).
Proof.
elim: n => [|n IH] H.
  rewrite big_geq // (_ : (fun t => _) = cst 0); first exact: is_derive_cst.
  by apply/funext => t; rewrite big_geq.
rewrite (_ : (fun t => _) = (fun t => \sum_(0 <= x < n) h x t) + h n); last first.
  by apply/funext => t; rewrite big_nat_recr.
rewrite big_nat_recr //=; apply: is_deriveD; last exact: H.
by apply: IH => x xn; apply/H/ltnW.
Qed.

(* entries that depend on a real parameter, and their slopes as expressions *)
Variables (entry : R -> nat -> seq nat -> R) (slope : nat -> seq index -> expr).
Hypothesis slope_right : forall k vs r, valid size_of r ->
  is_derive t0 (1 : R) (fun t => entry t k (map r vs) : R) (meaning size_of scalar (entry t0) r (slope k vs)).

Theorem diff_real e r : valid size_of r ->
  is_derive t0 (1 : R) (fun t => meaning size_of scalar (entry t) r e) (meaning size_of scalar (entry t0) r (diff slope e)).
Proof.
have zero r' : meaning size_of scalar (entry t0) r' (Int 0) = 0 by rewrite /meaning /= rational0.
elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r rV.
- by rewrite zero; exact: is_derive_cst.
- by rewrite zero; exact: is_derive_cst.
- by rewrite zero; exact: is_derive_cst.
- exact: slope_right.
- exact: (is_deriveD (IHa _ rV) (IHb _ rV)).
- apply: is_derive_eq; first exact: (is_deriveM (IHa _ rV) (IHb _ rV)).
  by rewrite /GRing.scale /meaning /= addrC; congr (_ + _); rewrite mulrC.
by apply: derive_sum => x xn; apply: IHa; exact: update_valid.
Qed.
End Diff.
