(* Rational coefficients as pairs of binary integers, and their values in a field of characteristic 0. *)
From Coq Require Import ZArith QArith Qreduction Lia.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Canonical Z_eqType := Eval hnf in EqType Z (EqMixin Z.eqb_spec).
Canonical positive_eqType := Eval hnf in EqType positive (EqMixin Pos.eqb_spec).

Definition ratio := (Z * positive)%type.
Definition lowest (n : Z) (d : positive) : ratio := let q := Qred (Qmake n d) in (Qnum q, Qden q).
Definition plus (a b : ratio) : ratio :=
  if a.2 == b.2 then (if a.2 == xH then (a.1 + b.1, xH)%Z else lowest (a.1 + b.1) a.2)
  else lowest (a.1 * Zpos b.2 + b.1 * Zpos a.2) (a.2 * b.2).
Definition times (a b : ratio) : ratio :=
  if (a.2 == xH) && (b.2 == xH) then (a.1 * b.1, xH)%Z else lowest (a.1 * b.1) (a.2 * b.2).
Definition is_zero (a : ratio) : bool := Z.eqb a.1 0.

Section Value.
Variable R : numFieldType.

Definition integer (z : Z) : R := (Z.to_nat z)%:R - (Z.to_nat (- z))%:R.
Definition natural (p : positive) : R := (Pos.to_nat p)%:R.
Definition rational (a : ratio) : R := integer a.1 / natural a.2.

Lemma equal_differences a b c d : (a + d = c + b)%N -> a%:R - b%:R = c%:R - d%:R :> R.
Proof. by move=> E; apply/eqP; rewrite subr_eq addrAC eq_sym subr_eq -!natrD -E. Qed.

Lemma integerD a b : integer (a + b) = integer a + integer b.
Proof.
rewrite /integer addrACA -opprD -!natrD; apply: equal_differences.
by rewrite -!plusE; lia.
Qed.
Lemma integer_positive p : integer (Zpos p) = natural p.
Proof. by rewrite /integer /natural /= subr0. Qed.
Lemma integer_negative p : integer (Zneg p) = - natural p.
Proof. by rewrite /integer /natural /= sub0r. Qed.
Lemma integer0 : integer 0 = 0. Proof. exact: subrr. Qed.
Lemma naturalM p q : natural (p * q) = natural p * natural q.
Proof. by rewrite /natural Pos2Nat.inj_mul natrM. Qed.
Lemma integerM a b : integer (a * b) = integer a * integer b.
Proof.
case: a b => [|p|p] [|q|q] /=;
  by rewrite ?integer0 ?integer_positive ?integer_negative ?naturalM ?mulr0 ?mul0r ?mulrN ?mulNr ?opprK.
Qed.
Lemma natural_neq0 p : natural p != 0.
Proof. by rewrite pnatr_eq0; case: (Pos.to_nat p) (Pos2Nat.is_pos p) => // H; inversion H. Qed.

Lemma rational_lowest n d : rational (lowest n d) = integer n / natural d.
Proof.
have := Qred_correct (Qmake n d); rewrite /lowest /rational /Qeq /=.
move=> /(congr1 integer); rewrite !integerM !integer_positive => E.
by apply/eqP; rewrite eqr_div ?natural_neq0 // E.
Qed.
Lemma rationalD a b : rational (plus a b) = rational a + rational b.
Proof.
have one : natural xH = 1 by [].
rewrite /plus; case: eqP => [E|_].
  case: eqP => [F|_]; last by rewrite rational_lowest integerD mulrDl /rational -E.
  by rewrite /rational /= -E F one !divr1 integerD.
by rewrite rational_lowest integerD !integerM !integer_positive naturalM addf_div ?natural_neq0.
Qed.
Lemma rationalM a b : rational (times a b) = rational a * rational b.
Proof.
have one : natural xH = 1 by [].
rewrite /times; case: andP => [[/eqP E /eqP F]|_]; first by rewrite /rational /= E F one !divr1 integerM.
by rewrite rational_lowest integerM naturalM mulf_div.
Qed.
Lemma rational0 a : is_zero a -> rational a = 0.
Proof. by move/Z.eqb_eq => E; rewrite /rational E integer0 mul0r. Qed.
Lemma rational1 : rational (1%Z, xH) = 1.
Proof. by rewrite /rational /= integer_positive divr1. Qed.
Lemma rationalN1 : rational ((-1)%Z, xH) = -1.
Proof. by rewrite /rational /= integer_negative divr1. Qed.
End Value.
