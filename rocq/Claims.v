(* What a claim's file says: an equation that holds for all sizes, inputs and indices, under what it assumes. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum reals.
From Attention Require Import Rationals Expressions Functions Rules.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition index_of (name : N) (size : nat) : index := (name, size).
Arguments index_of name%num size%nat.

Definition always (T : table) (given : seq condition) (hypotheses : seq equation) (h : equation) : Prop :=
  forall (R : realType) (size_of : nat -> nat) (scalar : nat -> R)
    (arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R) (input : nat -> seq nat -> R),
  (forall s, 0 < size_of s)%N -> (forall n, 0 < scalar n) ->
  (forall c, List.In c given -> condition_holds size_of scalar arbitrary T input c) ->
  let true_equation := holds size_of (power size_of scalar) (entries_of size_of scalar arbitrary T input) in
  (forall g, List.In g hypotheses -> true_equation g) -> true_equation h.
Definition accepts (T : table) given hypotheses steps h p : bool :=
  well_formed T && proves T given hypotheses steps h p.

Theorem accepts_correct T given hypotheses steps h p : accepts T given hypotheses steps h p ->
  always T given hypotheses h.
Proof.
case/andP => wf A R size_of scalar arbitrary input S0 P0 G true_equation H.
exact: (proves_correct S0 P0 wf G A H).
Qed.
