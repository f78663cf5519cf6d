(* Sums, products and the softmax have the derivatives over the real numbers that Derivatives.v computes. *)
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

Section Softmax.
Variables (R : realType) (n : nat) (x : nat -> R -> R) (dx : nat -> R) (t0 : R).
Hypothesis x_right : forall j, (j < n)%N -> is_derive t0 (1 : R) (x j) (dx j).
Let e j t := expR (x j t).
Let z t := \sum_(0 <= j < n) e j t.
Definition row j t := e j t / z t.

Lemma derive_exponential j : (j < n)%N -> is_derive t0 (1 : R) (e j) (e j t0 * dx j).
Proof. by move=> jn; exact: (is_derive1_comp (is_derive_expR (x j t0)) (x_right jn)). Qed.
Lemma derive_quotient (f g : R -> R) df dg : g t0 != 0 -> is_derive t0 (1 : R) f df -> is_derive t0 (1 : R) g dg ->
  is_derive t0 (1 : R) (fun t => f t / g t) (df / g t0 - f t0 * dg / g t0 ^+ 2).
Proof.
move=> g0 Df [gd ge].
have Dg : is_derive t0 (1 : R) (fun t => (g t)^-1) (- (g t0) ^- 2 *: dg) by rewrite -ge; split; [exact: derivableV|exact: deriveV].
rewrite (_ : (fun t => _) = f * (fun t => (g t)^-1)) //; apply: is_derive_eq; first exact: (is_deriveM Df Dg).
by rewrite /GRing.scale /= addrC; congr (_ + _); [exact: mulrC|rewrite mulNr mulrN mulrCA mulrC mulrAC].
Qed.
Theorem derive_softmax j : (j < n)%N ->
  is_derive t0 (1 : R) (row j) (row j t0 * (dx j - \sum_(0 <= l < n) row l t0 * dx l)).
Proof.
move=> jn; have z0 : z t0 != 0.
  rewrite gt_eqF // /z; case: n jn => // m _; rewrite big_nat_recl // ltr_paddr ?expR_gt0 //.
  by apply: sumr_ge0 => i _; exact/ltW/expR_gt0.
have Dz : is_derive t0 (1 : R) z (\sum_(0 <= l < n) e l t0 * dx l) by apply: derive_sum => l; exact: derive_exponential.
apply: is_derive_eq; first exact: (derive_quotient z0 (derive_exponential jn) Dz).
rewrite /row mulrBr; congr (_ - _); first by rewrite mulrAC.
under [in RHS]eq_bigr do rewrite mulrAC.
by rewrite -mulr_suml expr2 invfM !mulrA.
Qed.
End Softmax.
